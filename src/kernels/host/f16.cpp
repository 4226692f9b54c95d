// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/host/make_kernels.hpp"

namespace sparsecoll::host {

template Kernels& make_kernels<Float16>(IndexType, Arena&, Backend*, size_t);

}  // namespace sparsecoll::host
