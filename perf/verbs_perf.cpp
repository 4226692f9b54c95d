// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// All programs that measure verbs in one executable, for a package: each executable contains all
// kernels.
#include <cstdio>
#include <string>

#include "common/programs.hpp"

namespace {

struct Program {
  const char* name;
  int (*run)(int, char**);
};
constexpr Program kPrograms[] = {{"sparse_allreduce_perf", sparsecoll::perf::sparse_allreduce_perf},
                                 {"gtopk_allreduce_perf", sparsecoll::perf::gtopk_allreduce_perf},
                                 {"sparse_alltoall_perf", sparsecoll::perf::sparse_alltoall_perf},
                                 {"push_sum_perf", sparsecoll::perf::push_sum_perf}};

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const Program& program : kPrograms)
    if (wanted == program.name) return program.run(argc - 1, argv + 1);
  std::fprintf(stderr, "usage: verbs_perf PROGRAM [OPTION...], PROGRAM being one of\n");
  for (const Program& program : kPrograms) std::fprintf(stderr, "  %s\n", program.name);
  return 2;
}
