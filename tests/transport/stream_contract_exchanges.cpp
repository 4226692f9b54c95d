// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: ranks, and the bytes of exchanges.

#include <algorithm>

#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

void ranks_and_device(Rank& rank) {
  const StreamTransport& transport = rank.transport();
  expect(transport.rank() == rank.rank(), text("rank ", transport.rank()));
  expect(transport.size() == rank.size(), text("size ", transport.size()));
  expect(transport.device() == rank.device(), text("device ", transport.device()));
}

/// Sends messages of every size, from and to addresses without alignment.
void every_size(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  const int P = transport.size(), me = transport.rank();
  const int next = (me + 1) % P, previous = (me + P - 1) % P;
  std::vector<size_t> sizes = rank.traits().sizes;
  sizes.push_back(rank.traits().large);
  constexpr size_t kMargin = 13;
  const auto padded = [](Payload bytes) {
    bytes.insert(bytes.begin(), kMargin, std::byte{1});
    bytes.insert(bytes.end(), kMargin, std::byte{1});
    return bytes;
  };
  for (const size_t size : sizes) {
    const DeviceArray<std::byte> out(padded(message(size, me, next))), in(padded(Payload(size)));
    const StreamTransfer both[] = {
        {next, sent(out).subspan(kMargin, size), {}, true, false},
        {previous, {}, received(in).subspan(kMargin, size), false, true}};
    transport.exchange(both, stream, no_deadline());
    expect(in.read(stream) == padded(message(size, previous, me)),
           text("a message of ", size, " bytes from rank ", previous));
  }
}

/// The messages of all ranks to all ranks in one exchange.
class AllToAll {
 public:
  AllToAll(StreamTransport& transport, int count) : transport_(transport) {
    const int me = transport.rank();
    for (int number = 0; number < count; ++number) {
      for (int peer = 0; peer < transport.size(); ++peer) {
        out_.emplace_back(message(size(me, peer, number), me, peer, number));
        in_.emplace_back(size(peer, me, number));
        expected_.push_back(message(size(peer, me, number), peer, me, number));
        transfers_.push_back({peer, sent(out_.back()), received(in_.back()), true, true});
      }
    }
  }
  void exchange(cudaStream_t stream) { transport_.exchange(transfers_, stream, no_deadline()); }
  void expect_received(cudaStream_t stream) const {
    for (size_t i = 0; i < in_.size(); ++i)
      expect(in_[i].read(stream) == expected_[i],
             text("message ", i, " of ", in_.size(), ", from rank ", transfers_[i].peer));
  }

 private:
  /// Returns the size of a message. No two consecutive messages of a pair have the same.
  static size_t size(int from, int to, int number) {
    constexpr size_t kSizes[] = {1, 64, 7, 4096, 100003, 12, 1000};
    return kSizes[static_cast<size_t>(from + 2 * to + 3 * number) % std::size(kSizes)];
  }

  StreamTransport& transport_;
  std::vector<DeviceArray<std::byte>> out_, in_;
  std::vector<Payload> expected_;
  std::vector<StreamTransfer> transfers_;
};

void all_to_all(Rank& rank) {
  const OwnStream stream;
  AllToAll first(rank.transport(), 3), second(rank.transport(), 1);
  first.exchange(stream);
  second.exchange(stream);
  rank.transport().check();
  first.expect_received(stream);
  second.expect_received(stream);
}

/// Lists large transfers in an order that would never end if each had to complete before the next
/// one began: even ranks list receives first, odd ranks sends to the last peer.
void one_operation(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  const int P = transport.size(), me = transport.rank();
  const size_t bytes = rank.traits().large / static_cast<size_t>(P);
  std::vector<DeviceArray<std::byte>> out, in;
  std::vector<StreamTransfer> sends, transfers;
  for (int peer = 0; peer < P; ++peer) {
    out.emplace_back(message(bytes, me, peer));
    in.emplace_back(bytes);
    transfers.push_back({peer, {}, received(in.back()), false, true});
    sends.push_back({peer, sent(out.back()), {}, true, false});
  }
  transfers.insert(transfers.end(), sends.begin(), sends.end());
  if (me % 2 == 1) std::reverse(transfers.begin(), transfers.end());
  transport.exchange(transfers, stream, no_deadline());
  for (int peer = 0; peer < P; ++peer)
    expect(in[static_cast<size_t>(peer)].read(stream) == message(bytes, peer, me),
           text("the message of rank ", peer));
}

/// Rank 0 sends to the others, and then receives from them. No exchange goes both ways.
void one_way(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  const int P = transport.size(), me = transport.rank();
  constexpr size_t kBytes = 501;
  for (const bool from_0 : {true, false}) {
    std::vector<DeviceArray<std::byte>> arrays;
    std::vector<StreamTransfer> transfers;
    for (int peer = me == 0 ? 1 : 0; peer < (me == 0 ? P : 1); ++peer) {
      const bool sends = from_0 == (me == 0);
      arrays.emplace_back(sends ? message(kBytes, me, peer) : Payload(kBytes));
      transfers.push_back({peer, sends ? sent(arrays.back()) : ConstBytes(),
                           sends ? Bytes() : received(arrays.back()), sends, !sends});
    }
    transport.exchange(transfers, stream, no_deadline());
    for (size_t i = 0; i < arrays.size(); ++i)
      if (transfers[i].receives)
        expect(arrays[i].read(stream) == message(kBytes, transfers[i].peer, me),
               text("the message of rank ", transfers[i].peer));
    stream.wait();
  }
}

void nothing(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  transport.exchange({}, stream, no_deadline());
  const int P = transport.size(), me = transport.rank();
  const int next = (me + 1) % P, previous = (me + P - 1) % P;
  const DeviceArray<std::byte> out(message(10, me, next)), in(10), unused(Payload(10));
  const StreamTransfer some[] = {
      {next, sent(out).first(0), {}, true, false},
      {previous, {}, received(in).first(0), false, true},
      {next, sent(out), received(unused), false, false},
      {next, sent(out), {}, true, false},
      {previous, {}, received(in), false, true},
  };
  transport.exchange(some, stream, no_deadline());
  expect(in.read(stream) == message(10, previous, me), "the message after an empty one");
  expect(unused.read(stream) == Payload(10), "a transfer that receives nothing has written");
}

}  // namespace

std::vector<Case> exchange_cases() {
  return {{"ranks and device", ranks_and_device},
          {"messages of every size", every_size},
          {"several messages from all to all, in order", all_to_all},
          {"the transfers of an exchange do not wait for each other", one_operation},
          {"exchanges in one direction", one_way},
          {"an exchange of nothing, and empty messages", nothing}};
}

}  // namespace sparsecoll::stream_contract
