// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A process of very many ranks: what a communicator takes for each pair of them.

#include <unistd.h>

#include <fstream>

#include "api/sanitizers.hpp"
#include "support/catch.hpp"
#include "support/config.hpp"

namespace sparsecoll::unit {
namespace {

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("a thousand ranks take less than 200 MB") {
  constexpr int P = 1000;
  std::vector<sparsecollComm_t> comms(P);
  const sparsecollConfig_t config = test::default_config();
  const size_t before = resident_bytes();
  REQUIRE(sparsecollCommInitAll(comms.data(), P, nullptr, &config) == sparsecollSuccess);
  const size_t taken = resident_bytes() - before;
  CAPTURE(taken);
  if (!kSanitized) CHECK(taken < 200'000'000);
  size_t destroyed = 0;
  for (const sparsecollComm_t comm : comms)
    destroyed += sparsecollCommDestroy(comm) == sparsecollSuccess ? 1 : 0;
  CHECK(destroyed == P);
}

}  // namespace
}  // namespace sparsecoll::unit
