// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Cases of the contract: transports that are split from others.

#include <functional>

#include "core/error.hpp"
#include "transport/contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::contract {
namespace {

using unit::test_message;

bool all(int) { return true; }

/// Splits the ranks for which `is_member` is true from `parent`, in reverse order. Collective.
std::unique_ptr<Transport> split(Rank& rank, Transport& parent, uint64_t id,
                                 const std::function<bool(int)>& is_member = all) {
  const std::vector<uint64_t> ranks = rank.allgather(static_cast<uint64_t>(parent.rank()));
  const std::vector<uint64_t> gathered = rank.allgather(parent.next_address());
  std::vector<uint64_t> addresses(gathered.size());
  for (size_t i = 0; i < gathered.size(); ++i) addresses[ranks[i]] = gathered[i];
  std::vector<RankAddress> members;
  for (int each = parent.size() - 1; each >= 0; --each)
    if (is_member(each)) members.push_back({each, addresses[static_cast<size_t>(each)]});
  if (!is_member(parent.rank())) members.clear();
  return parent.split(members, id);
}

/// Every rank of each transport sends all of its ranks a message that identifies the transport.
/// The transports then receive their messages in the opposite order.
void exchange_on(Rank& rank, const std::vector<Transport*>& transports) {
  const size_t sizes[] = {100, 0, 3000, 64, 17};
  std::vector<Payload> sent;
  for (size_t t = 0; t < transports.size(); ++t)
    sent.push_back(test_message(sizes[t % 5], transports[t]->rank(), t));
  for (size_t t = 0; t < transports.size(); ++t)
    for (int peer = 0; peer < transports[t]->size(); ++peer) transports[t]->send(peer, sent[t]);
  for (size_t t = transports.size(); t-- > 0;)
    for (int missing = transports[t]->size(); missing > 0; --missing) {
      const ReceivedMessage message = receive(*transports[t]);
      expect_message(message, message.peer, test_message(sizes[t % 5], message.peer, t));
    }
  for (Transport* each : transports) flush(*each);
  rank.barrier();
  for (Transport* each : transports) expect(!each->poll(), "more was received than sent");
  rank.barrier();  // no rank sends again before all have polled
}

void reversed_and_nested(Rank& rank) {
  Transport& parent = rank.transport();
  const auto one = split(rank, parent, 1), two = split(rank, parent, 2),
             inner = split(rank, *one, 3);
  const int P = parent.size(), me = parent.rank();
  expect(one->size() == P && inner->size() == P, "not the size");
  expect(one->rank() == P - 1 - me && inner->rank() == me, "not the order of the members");
  exchange_on(rank, {&parent, one.get(), two.get(), inner.get()});
  const auto later = split(rank, *two, 4);
  exchange_on(rank, {later.get(), two.get(), inner.get()});
  for (const auto* each : {&one, &two, &inner, &later}) (*each)->close();
}

/// Splits some ranks, and then ranks that have made different numbers of splits.
void some_of_the_ranks(Rank& rank) {
  Transport& parent = rank.transport();
  const bool is_first = parent.rank() == 0;
  const auto first = split(rank, parent, 1, [](int r) { return r == 0; });
  expect((first != nullptr) == is_first, "a transport for members only");
  const auto others = split(rank, parent, 2, [](int r) { return r > 0; });
  expect((others != nullptr) == !is_first, "a transport for members only");
  expect(!split(rank, parent, 3, [](int) { return false; }), "a transport without members");
  exchange_on(rank, {is_first ? first.get() : others.get(), &parent});
  const auto later = split(rank, parent, 4);
  exchange_on(rank, {&parent, later.get()});
  (is_first ? first : others)->close();
  later->close();
}

/// Two disjoint groups split with the same id at the same time.
void two_groups_at_once(Rank& rank) {
  Transport& parent = rank.transport();
  const int parity = parent.rank() % 2;
  const auto half = split(rank, parent, 1, [parity](int r) { return r % 2 == parity; });
  expect(half->size() == (parent.size() + 1 - parity) / 2, "not the size of the group");
  exchange_on(rank, {half.get(), &parent});
  half->close();
}

/// The first rank that has split sends before the others have.
void early_messages(Rank& rank) {
  Transport& parent = rank.transport();
  const int P = parent.size(), last = P - 1;
  const std::vector<uint64_t> addresses = rank.allgather(parent.next_address());
  std::vector<RankAddress> members;
  for (int each = 0; each < P; ++each)
    members.push_back({each, addresses[static_cast<size_t>(each)]});
  const Payload message = test_message(700, last, 5);
  std::unique_ptr<Transport> child;
  if (parent.rank() == last) {
    child = parent.split(members, 1);
    for (int to = 0; to < P; ++to) child->send(to, message);
  }
  rank.barrier();
  expect(!parent.poll(), "a message of another transport");
  if (!child) child = parent.split(members, 1);
  expect_message(receive(*child), last, message);
  flush(*child);
  rank.barrier();
  child->close();
}

void outlives_its_parent(Rank& rank) {
  Transport& parent = rank.transport();
  const auto child = split(rank, parent, 1), grandchild = split(rank, *child, 2);
  exchange_on(rank, {&parent, child.get(), grandchild.get()});
  parent.close();
  rank.barrier();
  exchange_on(rank, {child.get(), grandchild.get()});
  child->close();
  exchange_on(rank, {grandchild.get()});
  grandchild->close();
}

void abandoned_child(Rank& rank) {
  Transport& parent = rank.transport();
  const auto child = split(rank, parent, 1);
  exchange_on(rank, {&parent, child.get()});
  bool touches_caller = true;
  expect(child->abandon(&touches_caller) == 0 && !touches_caller, "memory was given up");
  exchange_on(rank, {&parent});
}

}  // namespace

std::vector<Case> split_cases() {
  return {{"splits keep their messages apart", reversed_and_nested},
          {"some of the ranks split, or none", some_of_the_ranks},
          {"two groups split at once", two_groups_at_once},
          {"messages to a rank that has not split yet", early_messages},
          {"a split outlives its parent", outlives_its_parent, true},
          {"a broken split leaves its parent alone", abandoned_child}};
}

}  // namespace sparsecoll::contract
