// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/programs.hpp"

int main(int argc, char** argv) { return sparsecoll::perf::sparse_allreduce_perf(argc, argv); }
