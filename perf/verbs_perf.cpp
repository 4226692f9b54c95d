// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// All programs that measure verbs in one executable, for a package: each executable contains all
// kernels.
#include <cstdio>
#include <string>
#include <vector>

#include "common/nearest_word.hpp"
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
  std::vector<std::string> names;
  for (const Program& program : kPrograms) {
    if (wanted == program.name) return program.run(argc - 1, argv + 1);
    names.emplace_back(program.name);
  }
  const bool help = wanted == "-h" || wanted == "--help";
  if (!help && !wanted.empty()) {
    const std::string nearest = sparsecoll::perf::nearest_word(wanted, names);
    std::fprintf(stderr, "verbs_perf: there is no program %s%s\n", wanted.c_str(),
                 nearest.empty() ? "" : ("; did you mean " + nearest + "?").c_str());
  }
  std::FILE* const out = help ? stdout : stderr;
  std::fputs("usage: verbs_perf PROGRAM [OPTION...]\n\n", out);
  std::fputs("All programs that measure verbs in one executable. PROGRAM is one of", out);
  for (const std::string& name : names) std::fprintf(out, " %s", name.c_str());
  std::fputs(". Its options follow; --help lists them.\n\nExamples:\n", out);
  std::fputs("  mpirun -n 4 verbs_perf sparse_allreduce_perf --density 0.01\n", out);
  return help ? 0 : 2;
}
