// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Bytes between devices in the order of streams, over NCCL's stand-in: what arrives, when, and what
// is left at the end.

#include "nccl/team.hpp"
#include "support/catch.hpp"

namespace sparsecoll::nccl_tests {
namespace {

TEST_CASE("ranks know who and where they are") {
  for (int P = 1; P <= 9; ++P) {
    {
      const Callers callers(P);
      const Transports transports = make_transports(callers);
      for (int r = 0; r < P; ++r) {
        const StreamTransport& transport = *transports[static_cast<size_t>(r)];
        CHECK(transport.rank() == r);
        CHECK(transport.size() == P);
        CHECK(transport.device() == callers.device(r));
      }
      CHECK(close_all(transports) == "");
    }
    CHECK(nccl_stand_in::leftovers() == "");
  }
}

/// Sizes of the messages of one pair of ranks; none is the size of the next one.
size_t size_of_letter(int from, int to, int number) {
  constexpr size_t kSizes[] = {1, 64, 7, 4096, 100003, 12, 1000};
  return kSizes[static_cast<size_t>(from + 2 * to + 3 * number) % std::size(kSizes)];
}

/// `count` messages to every rank and from every rank, this one too, in one exchange.
class AllToAll {
 public:
  AllToAll(StreamTransport& transport, int count) : transport_(transport) {
    const int me = transport.rank();
    for (int number = 0; number < count; ++number) {
      for (int peer = 0; peer < transport.size(); ++peer) {
        out_.emplace_back(letter(size_of_letter(me, peer, number), me, peer, number));
        in_.emplace_back(size_of_letter(peer, me, number));
        expected_.push_back(letter(size_of_letter(peer, me, number), peer, me, number));
        transfers_.push_back({peer, sent(out_.back()), filled(in_.back()), true, true});
      }
    }
  }
  void exchange(cudaStream_t stream) { transport_.exchange(transfers_, stream, patience()); }
  std::string wrong(cudaStream_t stream) const {
    for (size_t i = 0; i < in_.size(); ++i)
      if (in_[i].read(stream) != expected_[i])
        return text("not what was sent: message ", i, " of ", in_.size(), ", from ",
                    transfers_[i].peer);
    return "";
  }

 private:
  StreamTransport& transport_;
  std::vector<DeviceArray<std::byte>> out_, in_;
  std::vector<Payload> expected_;
  std::vector<StreamTransfer> transfers_;
};

TEST_CASE("all to all, several messages to each: in order, as they were sent, one group each") {
  for (const bool blocking : {true, false}) {
    for (int P = 1; P <= 9; ++P) {
      const Callers callers(P, blocking);
      const Transports transports = make_transports(callers);
      const size_t before = nccl_stand_in::groups_launched();
      CHECK(on_ranks("all to all", transports, [](StreamTransport& transport) {
              const OwnStream stream;
              AllToAll first(transport, 3), second(transport, 1);
              first.exchange(stream);
              second.exchange(stream);
              transport.check();
              return first.wrong(stream) + second.wrong(stream);
            }) == "");
      CHECK(nccl_stand_in::groups_launched() - before == 2 * static_cast<size_t>(P));
      CHECK(close_all(transports) == "");
    }
  }
}

TEST_CASE("around a ring, in the order of the stream: no step waits on the host") {
  for (int P = 1; P <= 9; ++P) {
    const Callers callers(P);
    const Transports transports = make_transports(callers);
    CHECK(on_ranks("ring", transports, [](StreamTransport& transport) -> std::string {
            const OwnStream stream;
            const int P = transport.size(), me = transport.rank();
            const int next = (me + 1) % P, last = (me + P - 1) % P;
            constexpr size_t kSize = 5000;
            // What came in one step goes out in the next, and is overwritten behind it.
            DeviceArray<std::byte> out(letter(kSize, me, 0)), in(kSize);
            for (int step = 0; step < P; ++step) {
              const StreamTransfer both[] = {{next, sent(out), {}, true, false},
                                             {last, {}, filled(in), false, true}};
              transport.exchange(both, stream, patience());
              devices::check(
                  cudaMemcpyAsync(out.get(), in.get(), kSize, cudaMemcpyDeviceToDevice, stream));
              devices::check(cudaMemsetAsync(in.get(), 1, kSize, stream));
            }
            // After P steps everything is where it came from.
            return out.read(stream) == letter(kSize, me, 0) ? "" : "another one's message";
          }) == "");
    CHECK(close_all(transports) == "");
  }
}

TEST_CASE("an exchange of nothing, and of nothing with somebody") {
  const Callers callers(2);
  const Transports transports = make_transports(callers);
  CHECK(on_ranks("nothing", transports, [](StreamTransport& transport) -> std::string {
          const OwnStream stream;
          transport.exchange({}, stream, patience());
          const int peer = 1 - transport.rank();
          const DeviceArray<std::byte> out(letter(10, transport.rank(), peer)), in(10);
          const StreamTransfer some[] = {
              {peer, {out.get(), size_t{0}}, {in.get(), size_t{0}}, true, true},
              {peer, sent(out), filled(in), false, false},
              {peer, sent(out), filled(in), true, true}};
          transport.exchange(some, stream, patience());
          return in.read(stream) == letter(10, peer, transport.rank()) ? "" : "another message";
        }) == "");
  CHECK(close_all(transports) == "");
}

TEST_CASE("an exchange in a graph, launched again and again") {
  for (const int P : {1, 2, 5}) {
    const Callers callers(P);
    const Transports transports = make_transports(callers);
    CHECK(on_ranks("graph", transports, [](StreamTransport& transport) -> std::string {
            const OwnStream stream;
            const int P = transport.size(), me = transport.rank();
            const int next = (me + 1) % P, last = (me + P - 1) % P;
            DeviceArray<std::byte> out(letter(777, me, next)), in(777);
            const StreamTransfer both[] = {{next, sent(out), {}, true, false},
                                           {last, {}, filled(in), false, true}};
            transport.exchange(both, stream, patience());  // connections are made outside of graphs
            cudaGraph_t graph = nullptr;
            cudaGraphExec_t executable = nullptr;
            devices::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            transport.exchange(both, stream, patience());
            devices::check(cudaStreamEndCapture(stream, &graph));
            devices::check(cudaGraphInstantiate(&executable, graph, 0));
            std::string wrong;
            for (int turn = 1; turn <= 20 && wrong.empty(); ++turn) {
              out.put(letter(777, me, next, turn), stream);
              devices::check(cudaGraphLaunch(executable, stream));
              if (in.read(stream) != letter(777, last, me, turn)) wrong = text("turn ", turn);
            }
            devices::check(cudaGraphExecDestroy(executable));
            devices::check(cudaGraphDestroy(graph));
            return wrong;
          }) == "");
    CHECK(close_all(transports) == "");
  }
}

TEST_CASE("the caller's communicator is as good as before, and nothing is left") {
  {
    const Callers callers(3);
    for (int turn = 0; turn < 3; ++turn) {
      const Transports transports = make_transports(callers);
      CHECK(nccl_stand_in::communicators() == 6);
      CHECK(on_ranks("all to all", transports, [](StreamTransport& transport) {
              const OwnStream stream;
              AllToAll all(transport, 1);
              all.exchange(stream);
              return all.wrong(stream);
            }) == "");
      if (turn == 1) CHECK(close_all(transports) == "");
    }  // else without close(): they are aborted
    CHECK(nccl_stand_in::communicators() == 3);
  }
  CHECK(nccl_stand_in::leftovers() == "");
}

TEST_CASE("after close() everything is refused but the end") {
  const Callers callers(2);
  const Transports transports = make_transports(callers);
  CHECK(close_all(transports) == "");
  CHECK(on_ranks("closed", transports, [](StreamTransport& transport) -> std::string {
          constexpr sparsecollResult_t kCode = sparsecollInvalidUsage;
          const std::string why = "closed or interrupted";
          return expect(thrown([&] { transport.check(); }), kCode, why) +
                 expect(thrown([&] { transport.exchange({}, nullptr, patience()); }), kCode, why) +
                 expect(thrown([&] { transport.split(0, 0, patience()); }), kCode, why) +
                 expect(thrown([&] { transport.close(patience()); }), kCode, why);
        }) == "");
  for (const auto& transport : transports) transport->interrupt();
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
