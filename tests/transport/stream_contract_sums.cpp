// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: sums over joined ranks.

#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

/// Returns the value that a rank contributes to element i of a share. Sums of them are exact.
template <class T>
T value_at(int rank, int share, size_t i) {
  return static_cast<T>((rank + 1) * 1000 + share * 100) + static_cast<T>(i % 97);
}

/// Adds vectors among the ranks of one color, `shares[i]` values for each of them. `first` is the
/// lowest joined rank, and `stride` the distance of the others.
template <class T>
void add(StreamTransport& transport, DataType type, int color, int colors, cudaStream_t stream) {
  const int P = transport.size(), joined = (P - color + colors - 1) / colors;
  const int position = transport.rank() / colors;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{100003}}) {
    std::vector<T> in, want(count);
    for (int share = 0; share < joined; ++share)
      for (size_t i = 0; i < count; ++i) in.push_back(value_at<T>(transport.rank(), share, i));
    for (size_t i = 0; i < count; ++i)
      for (int r = color; r < P; r += colors) want[i] += value_at<T>(r, position, i);
    const DeviceArray<T> from(in), to(std::vector<T>(count, T{7}));
    transport.reduce_scatter(from.get(), to.get(), count, type, stream, no_deadline());
    expect(to.read(stream) == want, text("the sum of ", count, " values"));
  }
}

/// Ranks join by color, and add while exchanges of all ranks come between.
void every_type(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  const int colors = transport.size() > 2 ? 2 : 1, color = transport.rank() % colors;
  transport.join(color, no_deadline());
  add<float>(transport, DataType::float32, color, colors, stream);
  send_around(transport, 1);
  add<double>(transport, DataType::float64, color, colors, stream);
  add<int32_t>(transport, DataType::int32, color, colors, stream);
  send_around(transport, 2);
  add<int64_t>(transport, DataType::int64, color, colors, stream);
  transport.check();
}

/// Interrupts a transport while a sum waits for a rank that does not come.
void interrupted(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  transport.join(0, no_deadline());
  const DeviceArray<float> in(static_cast<size_t>(transport.size())), out(1);
  transport.reduce_scatter(in.get(), out.get(), 1, DataType::float32, stream, no_deadline());
  cudaStreamSynchronize(stream);
  rank.barrier();
  if (transport.rank() > 0)
    transport.reduce_scatter(in.get(), out.get(), 1, DataType::float32, stream, no_deadline());
  rank.barrier();
  transport.interrupt();
  const Clock::time_point start = Clock::now();
  cudaStreamSynchronize(stream);
  expect_within(kAtOnce, seconds_since(start), "the sum ended");
  expect_ended(rank);
}

}  // namespace

std::vector<Case> sum_cases() {
  return {{"sums of joined ranks, of every type", every_type},
          {"an interruption ends a sum", interrupted, true}};
}

}  // namespace sparsecoll::stream_contract
