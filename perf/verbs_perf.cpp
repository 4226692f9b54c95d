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
  const bool helps = wanted == "-h" || wanted == "--help";
  std::FILE* out = helps ? stdout : stderr;
  std::fputs("usage: verbs_perf PROGRAM [OPTION...]\n\n", out);
  std::fputs("All programs that measure verbs in one executable. PROGRAM is one of", out);
  for (const Program& program : kPrograms) std::fprintf(out, " %s", program.name);
  std::fputs(". Its options follow; --help lists them.\n", out);
  return helps ? 0 : 2;
}
