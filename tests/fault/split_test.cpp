// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A split whose part lacks a member: a fatal error of the communicator that was split.

#include <chrono>
#include <thread>

#include "support/catch.hpp"
#include "support/config.hpp"
#include "unit/communicators.hpp"

namespace sparsecoll::fault {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a rank that does not come to its part: the others' split is a fatal error") {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = 400;
  // Rank 1 waits for rank 0's wish until it is aborted; rank 0 has its own.
  unit::Communicators ranks(2, config, [](int sender, int, size_t) {
    Fate fate;
    if (sender == 0) fate.delay = milliseconds(20000);
    return fate;
  });
  std::thread aborter([&] {
    std::this_thread::sleep_for(milliseconds(100));
    sparsecollCommAbort(ranks.handle(1));
  });
  CHECK(ranks.run("split", [&](int rank) -> std::string {
    const sparsecollComm_t comm = ranks.handle(rank);
    sparsecollComm_t part = nullptr;
    const sparsecollResult_t want = rank == 0 ? sparsecollTimeout : sparsecollInvalidUsage;
    std::string verdict =
        test::expect("split", sparsecollCommSplit(comm, 0, 0, &part, nullptr), want, comm);
    if (part != nullptr) verdict += "; there is a part";
    sparsecollResult_t asynchronous = sparsecollSuccess;
    sparsecollCommGetAsyncError(comm, &asynchronous);
    if (asynchronous != want) verdict += "; the communicator is not poisoned";
    return verdict;
  }) == "");
  aborter.join();
}

}  // namespace
}  // namespace sparsecoll::fault
