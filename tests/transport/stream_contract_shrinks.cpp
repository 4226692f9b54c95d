// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: transports of the ranks that remain.

#include <thread>

#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

using unit::error_of;

/// Shrinks without the ranks in the list, and checks the new transport if this rank is in it.
void shrink_without(Rank& rank, const std::vector<int>& excluded, int number) {
  int place = rank.rank();
  for (const int each : excluded) {
    if (each == rank.rank()) return;
    if (each < rank.rank()) --place;
  }
  const auto made = rank.transport().shrink(excluded, no_deadline());
  const int size = rank.size() - static_cast<int>(excluded.size());
  expect(made->size() == size, text("size ", made->size(), " of ", size));
  expect(made->rank() == place, text("rank ", made->rank(), " instead of ", place));
  expect(made->device() == rank.transport().device(), text("device ", made->device()));
  send_around(*made, number);
  made->close(no_deadline());
}

void without_some(Rank& rank) {
  const int P = rank.size();
  shrink_without(rank, {}, 1);
  for (int first = 0; first < P - 1; ++first) {
    shrink_without(rank, {first}, 2);
    shrink_without(rank, {first, P - 1}, 3);
    send_around(rank.transport(), 4);
  }
}

/// Twice in a row: the ranks that remain shrink what they have made.
void in_a_row(Rank& rank) {
  if (rank.rank() == 0) return rank.transport().interrupt();
  const int first[] = {0};
  auto made = rank.transport().shrink(first, no_deadline());
  while (made->size() > 1) {
    made->interrupt();
    if (made->rank() == 0) return;
    made = made->shrink(first, no_deadline());
    send_around(*made, 1);
  }
}

/// The transport has ended before, with an exchange that never comes to its end.
void after_interruption(Rank& rank) {
  StreamTransport& transport = rank.transport();
  send_around(transport, 1);
  rank.barrier();
  transport.interrupt();
  shrink_without(rank, {}, 2);
  shrink_without(rank, {rank.size() - 1}, 3);
  expect_ended(rank);
}

void missing_in_shrink(Rank& rank) {
  if (rank.size() < 3 || rank.rank() > 0) return;
  const int last[] = {rank.size() - 1};
  const Clock::time_point start = Clock::now();
  const unit::ThrownError error =
      error_of([&] { rank.transport().shrink(last, Deadline::after(100)); });
  expect(error.code == sparsecollTimeout, text("got ", error.code, ": ", error.message));
  const double seconds = seconds_since(start);
  expect(seconds > 0.1, text("Timeout after ", seconds, " s"));
  expect_within(0.1 + kAtOnce, seconds, "Timeout");
}

void interrupted_shrink(Rank& rank) {
  if (rank.size() < 3 || rank.rank() > 0) return;
  const int last[] = {rank.size() - 1};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    rank.transport().interrupt_shrink();
  });
  const unit::ThrownError error = error_of([&] { rank.transport().shrink(last, no_deadline()); });
  other.join();
  const unit::ThrownError again = error_of([&] { rank.transport().shrink(last, no_deadline()); });
  for (const unit::ThrownError& each : {error, again})
    expect(each.code == sparsecollInvalidUsage, text("got ", each.code, ": ", each.message));
}

}  // namespace

std::vector<Case> shrink_cases() {
  return {{"transports without some ranks", without_some},
          {"shrinks in a row", in_a_row, true},
          {"a shrink after an interruption", after_interruption, true},
          {"a rank is missing in a shrink", missing_in_shrink, true},
          {"an interrupted shrink", interrupted_shrink, true}};
}

}  // namespace sparsecoll::stream_contract
