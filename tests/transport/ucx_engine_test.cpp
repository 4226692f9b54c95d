// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of the end of an engine to which a peer connects.

#include <memory>
#include <utility>

#include "support/catch.hpp"
#include "support/variable.hpp"
#include "transport/ucx/engine.hpp"

namespace sparsecoll::ucx {
namespace {

std::unique_ptr<Engine> new_engine() {
  return std::make_unique<Engine>(Engine::Kind::network, 2, "lo");
}

TEST_CASE("an engine may end while UCX's answer to a peer that connects is queued") {
  const test::Variable transport("UCX_TLS", "tcp");  // also on machines with InfiniBand
  const auto peer = new_engine();
  auto ends = new_engine();
  ends->listen(
      0,
      [](void*, const void*, size_t, void*, size_t, const ucp_am_recv_param_t*) { return UCS_OK; },
      nullptr);
  const ucp_ep_h connection = peer->connect(
      ends->address().data(), [](void*, ucp_ep_h, ucs_status_t) {}, nullptr);
  REQUIRE(connection);
  const ucp_request_param_t how{};
  void* const send = open_library().send(connection, 0, "?", 1, nullptr, 0, &how);
  REQUIRE(!UCS_PTR_IS_ERR(send));
  // The answer waits for the peer, which makes progress only once in each turn.
  bool queued = false;
  const Clock::time_point limit = Clock::now() + std::chrono::minutes(1);
  while (!queued && Clock::now() < limit) {
    peer->progress();
    ends->progress();
    queued = !ends->drain(Clock::now() + std::chrono::milliseconds(20));
  }
  REQUIRE(queued);
  Engine::end(std::move(ends), true);
  if (send) open_library().request_free(send);
}

}  // namespace
}  // namespace sparsecoll::ucx
