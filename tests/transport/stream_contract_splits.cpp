// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: splits.

#include <utility>

#include "transport/stream_contract_steps.hpp"

namespace sparsecoll::stream_contract {
namespace {

/// Splits by colors, which are assigned cyclically, with the ranks in reversed order. Each child
/// makes an exchange, and its parent after it.
void colors_and_keys(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank();
  for (int colors = 1; colors <= 3; ++colors) {
    const int color = me % colors;
    const auto child = transport.split(color, -me, no_deadline());
    expect(child != nullptr, "a color has no transport");
    const int size = (P - color + colors - 1) / colors;
    expect(child->size() == size, text("size ", child->size(), " of ", size));
    expect(child->rank() == size - 1 - me / colors, text("rank ", child->rank()));
    expect(child->device() == transport.device(), text("device ", child->device()));
    send_around(*child, color);
    send_around(transport, 100);
    child->close(no_deadline());
  }
}

/// The upper half of the ranks has a color, and then no rank has one.
void no_color(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const int P = transport.size(), me = transport.rank(), first = P / 2;
  for (const int none : {-1, -77}) {
    const auto child = transport.split(me >= first ? 5 : none, 0, no_deadline());
    expect((child != nullptr) == (me >= first), "a transport for the ranks with a color only");
    if (child) {
      expect(child->size() == P - first, text("size ", child->size()));
      expect(child->rank() == me - first, text("rank ", child->rank()));
      send_around(*child, 5);
    }
    send_around(transport, 0);
    expect(!transport.split(none, 0, no_deadline()), "a transport without ranks");
    rank.barrier();  // the child is destroyed without close()
  }
}

/// Splits until each rank is alone. Each child is used after the end of its parent.
void outlives_its_parent(Rank& rank) {
  auto now = rank.transport().split(rank.rank() % 2, 0, no_deadline());
  rank.transport().close(no_deadline());
  send_around(*now, 1);
  while (now->size() > 1) {
    auto half = now->split(now->rank() % 2, 0, no_deadline());
    now->close(no_deadline());
    now = std::move(half);
    send_around(*now, 1);
  }
  now->close(no_deadline());
}

/// Interrupts a child, and then the parent of another child.
void independent_ends(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const auto first = transport.split(0, 0, no_deadline());
  const auto second = transport.split(0, 0, no_deadline());
  send_around(*first, 1);
  rank.barrier();
  first->interrupt();
  send_around(transport, 2);
  send_around(*second, 3);
  rank.barrier();
  transport.interrupt();
  send_around(*second, 4);
  second->close(no_deadline());
}

}  // namespace

std::vector<Case> split_cases() {
  return {{"colors and keys of a split", colors_and_keys},
          {"ranks without a color get no transport", no_color},
          {"a child outlives its parent", outlives_its_parent, true},
          {"an interruption ends neither parent nor child", independent_ends, true}};
}

}  // namespace sparsecoll::stream_contract
