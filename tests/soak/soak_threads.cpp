// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// soak_threads [OPTIONS] A job of the soak whose ranks are threads of this process. --help lists
// the options; soak_rank.hpp says what a job does, and what it checks.

#include <algorithm>
#include <cstdio>
#include <thread>

#include "soak/soak_rank.hpp"
#include "support/hang_guard.hpp"

int main(int argc, char** argv) {
  using namespace sparsecoll::soak;
  const Options options =
      parse("Random calls and faults, checked, of ranks that are threads", argc, argv, true);
  const sparsecollConfig_t config = first_config(options);
  std::vector<sparsecollComm_t> comms(static_cast<size_t>(options.ranks));
  if (sparsecollCommInitAll(comms.data(), options.ranks, nullptr, &config) != sparsecollSuccess) {
    std::fprintf(stderr, "%s\n", sparsecollGetLastError(nullptr));
    return 1;
  }
  const sparsecoll::test::HangGuard guard("soak", options.ranks, std::chrono::minutes(4));
  std::vector<char> good(comms.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto r = static_cast<size_t>(rank);
      good[r] = SoakRank(options, rank, options.ranks, comms[r], Death::kOfThread).run();
    });
  for (std::thread& thread : threads) thread.join();
  return std::ranges::count(good, 0) != 0;
}
