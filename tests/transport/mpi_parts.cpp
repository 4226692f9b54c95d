// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Parts of a transport over MPI, which share its MPI communicator: each hears its own messages
// only; the MPI communicator is freed with the last of them, in whatever order they end; tags come
// round.

#include <functional>

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/test_messages.hpp"

namespace {

int freed = 0;
int highest_tag = 0;  // 0: MPI's own

}  // namespace

// These take the place of MPI's own.
int MPI_Comm_free(MPI_Comm* comm) {
  ++freed;
  return PMPI_Comm_free(comm);
}
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  if (highest_tag == 0 || key != MPI_TAG_UB) return PMPI_Comm_get_attr(comm, key, value, found);
  *static_cast<int**>(value) = &highest_tag;
  *found = 1;
  return MPI_SUCCESS;
}

namespace {

using namespace sparsecoll;
using sparsecoll::unit::same;
using sparsecoll::unit::test_message;

std::unique_ptr<Transport> make() {
  return make_mpi_transport(MPI_COMM_WORLD, Deadline::after(30000));
}

/// The ranks of `whole` for which `is_member` is true, in reverse order, as a part; collective.
std::unique_ptr<Transport> part_of(Transport& whole, const std::function<bool(int)>& is_member) {
  uint64_t own = whole.next_address();
  std::vector<uint64_t> addresses(static_cast<size_t>(whole.size()));
  MPI_Allgather(&own, 1, MPI_UINT64_T, addresses.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  std::vector<RankAddress> members;
  for (int rank = whole.size() - 1; rank >= 0; --rank)
    if (is_member(rank)) members.push_back({rank, addresses[static_cast<size_t>(rank)]});
  if (!is_member(whole.rank())) members.clear();
  return whole.split(members, 0);
}

bool all(int) { return true; }

void take_in(Transport& transport, uint64_t number, size_t bytes) {
  for (int missing = transport.size(); missing > 0;) {
    const auto arrived = transport.poll();
    if (!arrived) {
      transport.idle(Clock::now());
      continue;
    }
    if (!same(arrived->bytes, test_message(bytes, arrived->peer, number)))
      fail(sparsecollInternalError, "another message came from rank ", arrived->peer);
    --missing;
  }
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

/// Every rank of each transport sends all of its ranks a letter that tells the transports apart;
/// they are received in the opposite order.
std::string exchange_on(const std::vector<Transport*>& transports) {
  const size_t sizes[] = {100, 0, 3000, 64, 17};
  std::vector<std::vector<std::byte>> sent;
  for (size_t t = 0; t < transports.size(); ++t)
    sent.push_back(test_message(sizes[t % 5], transports[t]->rank(), t));
  for (size_t t = 0; t < transports.size(); ++t)
    for (int peer = 0; peer < transports[t]->size(); ++peer) transports[t]->send(peer, sent[t]);
  for (size_t t = transports.size(); t-- > 0;) take_in(*transports[t], t, sizes[t % 5]);
  bool more = false;
  for (Transport* each : transports) more = more || each->poll();
  MPI_Barrier(MPI_COMM_WORLD);  // nobody sends again before all have ended this exchange
  return more ? "more came than was sent" : "";
}

void check_apart(test::Verdict& verdict) {
  const auto whole = make();
  const auto one = part_of(*whole, all);
  const auto two = part_of(*whole, all);
  const auto inner = part_of(*one, all);
  const int P = whole->size(), rank = whole->rank();
  verdict.require("reversed", one->rank() == P - 1 - rank && inner->rank() == rank);
  verdict.require("names of their own", whole->world_rank() == rank && one->world_rank() == rank);
  verdict.check("whole and parts", exchange_on({whole.get(), one.get(), two.get(), inner.get()}));
  // On ranks that have taken different numbers of tags.
  const auto few = part_of(*whole, [](int r) { return r == 0; });
  const auto most = part_of(*whole, [](int r) { return r > 0; });
  verdict.require("members only", (few != nullptr) == (rank == 0) && !few != !most);
  verdict.check("parts of some", exchange_on({rank == 0 ? few.get() : most.get(), whole.get()}));
  const auto later = part_of(*two, all);
  verdict.check("a part of a part", exchange_on({later.get(), two.get(), inner.get()}));
  for (const auto* each : {&whole, &one, &two, &inner, &few, &most, &later})
    if (*each) (*each)->close();
}

/// The order in which transports end differs between ranks; the last one frees.
void check_freed_with_the_last(test::Verdict& verdict) {
  const auto whole = make();
  const auto left = part_of(*whole, all), inner = part_of(*left, all);
  Transport* const three[] = {whole.get(), left.get(), inner.get()};
  const int before = freed;
  const auto rank = static_cast<size_t>(whole->rank());
  for (size_t turn = 0; turn < 3; ++turn) {
    verdict.require("not freed yet", freed == before);
    three[(rank + turn * (rank % 2 + 1)) % 3]->close();
  }
  verdict.require("freed with the last", freed == before + 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

void check_broken_part(test::Verdict& verdict) {
  const auto whole = make();
  const auto part = part_of(*whole, all);
  const int before = freed;
  bool touches_caller = true;
  verdict.require("nothing is given up", part->abandon(&touches_caller) == 0 && !touches_caller);
  verdict.check("the whole goes on", exchange_on({whole.get()}));
  MPI_Barrier(MPI_COMM_WORLD);  // else a rank may have ended while another sends
  whole->close();
  verdict.require("messages of the broken part may be under way", freed == before);
}

void check_tags_come_round(test::Verdict& verdict) {
  highest_tag = 4;
  const auto whole = make();
  highest_tag = 0;
  for (int round = 0; round < 20; ++round) {
    const auto part = part_of(*whole, all);
    verdict.check("a part in turn", exchange_on({whole.get(), part.get()}));
    MPI_Barrier(MPI_COMM_WORLD);
    part->close();
  }
  const auto a = part_of(*whole, all), b = part_of(*whole, all);
  const uint64_t next = whole->next_address();
  verdict.require("an address that nobody used stays", whole->next_address() == next);
  verdict.require("nobody is no part", !part_of(*whole, [](int) { return false; }));
  verdict.require("and uses none up", whole->next_address() == next);
  const auto c = part_of(*whole, all);
  const auto d = part_of(*whole, all);
  std::string error;
  try {
    whole->next_address();
  } catch (const Error& caught) {
    error = caught.code() == sparsecollSystemError ? caught.what() : "";
  }
  verdict.require("all are in use",
                  error == "MPI has no tag left for another communicator; its highest tag is 4");
  verdict.check("all at once", exchange_on({whole.get(), a.get(), b.get(), c.get(), d.get()}));
  // A peer says something after this rank's end of the part is closed.
  const int rank = whole->rank(), next_rank = (rank + 1) % whole->size();
  MPI_Barrier(MPI_COMM_WORLD);
  a->close();
  b->close();
  const uint64_t taken = whole->next_address();
  verdict.require("the first that was given back", taken == 1 || taken == 2);
  static const std::vector<std::byte> late = test_message(100, rank, 9);
  const uint64_t other = c->next_address();
  verdict.require("the other", other != taken && (other == 1 || other == 2));
  if (d->size() == 1) return;  // nobody can be late
  d->send(d->size() - 1 - next_rank, late);
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock::time_point start = Clock::now();
  while (d->unsent() > 0 || Clock::now() - start < std::chrono::milliseconds(50))
    whole->poll();  // MPI moves messages
  d->close();       // with a message that was not taken
  error.clear();
  try {
    d->next_address();
  } catch (const Error& caught) {
    error = caught.what();
  }
  verdict.require("a tag with a late message is left alone", !error.empty());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_parts, rank ", rank), 1, std::chrono::seconds(100));
  test::Verdict verdict;
  try {
    check_apart(verdict);
    check_freed_with_the_last(verdict);
    check_broken_part(verdict);
    check_tags_come_round(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_parts, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this rank
  }
  const int code = verdict.report("mpi_parts");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
