// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "device/baselines.hpp"

namespace sparsecoll::perf::device {

bool has_device_topk() { return false; }

template <class T>
void device_topk(cuda::Backend&, const SelectTask<T>&) {
  throw std::logic_error("the CCCL of this build has no cub::DeviceTopK");
}

template void device_topk(cuda::Backend&, const SelectTask<float>&);
template void device_topk(cuda::Backend&, const SelectTask<double>&);
template void device_topk(cuda::Backend&, const SelectTask<Float16>&);
template void device_topk(cuda::Backend&, const SelectTask<Bfloat16>&);

}  // namespace sparsecoll::perf::device
