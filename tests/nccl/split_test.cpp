// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Parts of a transport over NCCL's stand-in.

#include "nccl/team.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

/// One message around the ring of that transport, with `color` in it.
std::string ring(StreamTransport& transport, int color) {
  const OwnStream stream;
  const int P = transport.size(), me = transport.rank();
  const int next = (me + 1) % P, last = (me + P - 1) % P;
  const DeviceArray<std::byte> out(letter(300, me, next, color)), in(300);
  const StreamTransfer both[] = {{next, sent(out), {}, true, false},
                                 {last, {}, filled(in), false, true}};
  transport.exchange(both, stream, patience());
  return in.read(stream) == letter(300, last, me, color) ? "" : text("color ", color);
}

/// Colors 0, 1, ... in turn, the order turned round; each part exchanges, and the whole after it.
std::string split_in_turn(StreamTransport& transport, int colors) {
  const int P = transport.size(), me = transport.rank(), color = me % colors;
  const auto part = transport.split(color, -me, patience());
  if (!part) return "no part";
  const int size = (P - color + colors - 1) / colors;
  if (part->size() != size) return text("size ", part->size(), " of ", size);
  if (part->rank() != size - 1 - me / colors) return text("rank ", part->rank());
  if (part->device() != transport.device()) return "device";
  const std::string wrong = ring(*part, color) + ring(transport, 100);
  part->close(patience());
  return wrong;
}

TEST_CASE("colors make parts, keys their order") {
  for (int P = 1; P <= 9; ++P) {
    {
      const Callers callers(P);
      const Transports transports = make_transports(callers);
      for (int colors = 1; colors <= 3; ++colors)
        CHECK(on_ranks("split", transports, [colors](StreamTransport& transport) {
                return split_in_turn(transport, colors);
              }) == "");
      CHECK(close_all(transports) == "");
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

TEST_CASE("who has no color gets no part") {
  for (const int nobody : {-1, -77}) {
    const Callers callers(4);
    const Transports transports = make_transports(callers);
    CHECK(on_ranks("no color", transports, [nobody](StreamTransport& transport) -> std::string {
            const bool in = transport.rank() > 1;
            const auto part = transport.split(in ? 5 : nobody, 0, patience());
            if (!part) return in ? "no part" : ring(transport, 0);
            if (!in) return "a part";
            if (part->size() != 2 || part->rank() != transport.rank() - 2) return "another part";
            return ring(*part, 5) + ring(transport, 0);
          }) == "");
    CHECK(on_ranks("nobody", transports, [nobody](StreamTransport& transport) -> std::string {
            return transport.split(nobody, 0, patience()) ? "a part" : "";
          }) == "");
    CHECK(close_all(transports) == "");
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("parts of parts, which outlive what they were split from") {
  const Callers callers(8);
  Transports transports = make_transports(callers);
  CHECK(run_threads("parts", 8, [&](int r) -> std::string {
          devices::check(cudaSetDevice(callers.device(r)));
          std::unique_ptr<StreamTransport> now = std::move(transports[static_cast<size_t>(r)]);
          std::string wrong;
          while (now->size() > 1) {
            auto half = now->split(now->rank() % 2, 0, patience());
            now->close(patience());
            now = std::move(half);
            wrong += ring(*now, 1);
          }
          now->close(patience());
          return wrong;
        }) == "");
  CHECK(nccl_stand_in::communicators() == 8);
}

TEST_CASE("the end of a part is not that of the whole, nor the other way round") {
  const Callers callers(2);
  const Transports transports = make_transports(callers);
  CHECK(on_ranks("ends", transports, [](StreamTransport& transport) {
          const auto first = transport.split(0, 0, patience());
          const auto second = transport.split(0, 0, patience());
          std::string wrong = ring(*first, 1);
          first->interrupt();
          wrong += ring(transport, 2) + ring(*second, 3);
          transport.interrupt();
          wrong += ring(*second, 4);
          second->close(patience());
          return wrong;
        }) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
