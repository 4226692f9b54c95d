// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests the MPI communicator and the tags that a transport over MPI shares with those that are
// split from it: the last one to end frees the communicator, in whatever order they end, and tags
// are used again.

#include "support/hang_guard.hpp"
#include "support/mpi_verdict.hpp"
#include "transport/mpi.hpp"
#include "transport/test_messages.hpp"

namespace {

int freed = 0;
int highest_tag = 0;  // reported instead of MPI's own one, unless 0

}  // namespace

// These replace MPI's functions.
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

/// Splits all ranks from `parent`, in reverse order. Collective.
std::unique_ptr<Transport> split(Transport& parent) {
  uint64_t own = parent.next_address();
  std::vector<uint64_t> addresses(static_cast<size_t>(parent.size()));
  MPI_Allgather(&own, 1, MPI_UINT64_T, addresses.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  std::vector<RankAddress> members;
  for (int rank = parent.size() - 1; rank >= 0; --rank)
    members.push_back({rank, addresses[static_cast<size_t>(rank)]});
  return parent.split(members, 0);
}

/// Receives one message from every rank.
void receive_all(Transport& transport, uint64_t number, size_t bytes) {
  for (int missing = transport.size(); missing > 0;) {
    const auto received = transport.poll();
    if (!received) {
      transport.idle(Clock::now());
      continue;
    }
    if (!same(received->bytes, test_message(bytes, received->peer, number)))
      fail(sparsecollInternalError, "another message was received from rank ", received->peer);
    --missing;
  }
  while (transport.unsent() > 0) transport.idle(Clock::now());
}

/// Every rank of each transport sends all of its ranks a message that identifies the transport.
/// The transports then receive their messages in the opposite order.
std::string exchange_on(const std::vector<Transport*>& transports) {
  const size_t sizes[] = {100, 0, 3000, 64, 17};
  std::vector<std::vector<std::byte>> sent;
  for (size_t t = 0; t < transports.size(); ++t)
    sent.push_back(test_message(sizes[t % 5], transports[t]->rank(), t));
  for (size_t t = 0; t < transports.size(); ++t)
    for (int peer = 0; peer < transports[t]->size(); ++peer) transports[t]->send(peer, sent[t]);
  for (size_t t = transports.size(); t-- > 0;) receive_all(*transports[t], t, sizes[t % 5]);
  bool more = false;
  for (Transport* each : transports) more = more || each->poll();
  MPI_Barrier(MPI_COMM_WORLD);  // no rank sends again before all have received
  return more ? "more messages were received than sent" : "";
}

void check_world_rank(test::Verdict& verdict) {
  const auto parent = make();
  const auto child = split(*parent);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  verdict.require("its rank in MPI_COMM_WORLD",
                  parent->world_rank() == rank && child->world_rank() == rank);
  MPI_Barrier(MPI_COMM_WORLD);
  child->close();
  parent->close();
}

/// Transports end in orders that differ between ranks. The last one frees the communicator.
void check_freed_with_the_last(test::Verdict& verdict) {
  const auto parent = make();
  const auto left = split(*parent), inner = split(*left);
  Transport* const three[] = {parent.get(), left.get(), inner.get()};
  const int before = freed;
  const auto rank = static_cast<size_t>(parent->rank());
  for (size_t i = 0; i < 3; ++i) {
    verdict.require("not freed yet", freed == before);
    three[(rank + i * (rank % 2 + 1)) % 3]->close();
  }
  verdict.require("freed with the last", freed == before + 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

void check_abandoned(test::Verdict& verdict) {
  const auto parent = make();
  const auto child = split(*parent);
  const int before = freed;
  bool touches_caller = true;
  verdict.require("no memory is leaked", child->abandon(&touches_caller) == 0 && !touches_caller);
  verdict.check("the parent still works", exchange_on({parent.get()}));
  MPI_Barrier(MPI_COMM_WORLD);  // no rank closes while another sends
  parent->close();
  verdict.require("the communicator of an abandoned transport is never freed", freed == before);
}

void check_tags(test::Verdict& verdict) {
  highest_tag = 9;  // a transport takes two tags
  const auto parent = make();
  highest_tag = 0;
  for (int round = 0; round < 20; ++round) {
    const auto child = split(*parent);
    verdict.check("a split in turn", exchange_on({parent.get(), child.get()}));
    MPI_Barrier(MPI_COMM_WORLD);
    child->close();
  }
  const auto a = split(*parent), b = split(*parent);
  const uint64_t next = parent->next_address();
  verdict.require("an address that is not used stays", parent->next_address() == next);
  verdict.require("no transport without members", !parent->split({}, 0));
  verdict.require("and its address stays", parent->next_address() == next);
  const auto c = split(*parent);
  const auto d = split(*parent);
  std::string error;
  try {
    parent->next_address();
  } catch (const Error& caught) {
    error = caught.code() == sparsecollSystemError ? caught.what() : "";
  }
  verdict.require("all are in use",
                  error == "MPI has no tag left for another communicator; its highest tag is 9");
  verdict.check("all at once", exchange_on({parent.get(), a.get(), b.get(), c.get(), d.get()}));
  // A peer sends a message after this rank has closed its end.
  const int rank = parent->rank(), next_rank = (rank + 1) % parent->size();
  MPI_Barrier(MPI_COMM_WORLD);
  a->close();
  b->close();
  const uint64_t taken = parent->next_address();
  verdict.require("a tag that was released", taken == 2 || taken == 4);
  static const std::vector<std::byte> late = test_message(100, rank, 9);
  const uint64_t other = c->next_address();
  verdict.require("the other released tag", other != taken && (other == 2 || other == 4));
  if (d->size() == 1) return;  // no peer can be late
  d->send(d->size() - 1 - next_rank, late);
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock::time_point start = Clock::now();
  while (d->unsent() > 0 || Clock::now() - start < std::chrono::milliseconds(50))
    parent->poll();  // MPI moves messages
  d->close();        // a message for its tag is not received
  error.clear();
  try {
    d->next_address();
  } catch (const Error& caught) {
    error = caught.what();
  }
  verdict.require("a tag with a late message is not used", !error.empty());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = test::rank_in(MPI_COMM_WORLD);
  test::HangGuard guard(text("mpi_tags, rank ", rank), 1);
  test::Verdict verdict;
  try {
    check_world_rank(verdict);
    check_freed_with_the_last(verdict);
    check_abandoned(verdict);
    check_tags(verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_tags, rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // other ranks may wait for this one
  }
  const int code = verdict.report("mpi_tags");
  guard.leave(0);
  MPI_Finalize();
  return code;
}
