// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of groups of the C++ header, and of exceptions while a group is open.

#include <memory>

#include "cxx/team.hpp"

namespace sparsecoll::test {
namespace {

TEST_CASE("a group makes its calls at its end, and outputs grow as needed") {
  for (const int blocking : {1, 0}) {
    Config config = quick_config();
    config.blocking = blocking;
    for (int P = 1; P <= 4; ++P) {
      CHECK(with_team(P, config, [P, blocking](Communicator& comm) {
              const float p = static_cast<float>(P);
              std::vector<float> one(6, 1.0f), two(4, 2.0f), none;
              Residual<float> residual(comm, two.size());
              const auto mine = static_cast<std::uint32_t>(comm.rank());
              const SparseVector<float> entry(8, {mine}, {1.0f});
              SparseVector<float> all, arrived, part;
              std::vector<std::size_t> counts(static_cast<std::size_t>(P));
              Group group(comm);
              group.sparseAllreduce(one, one, 6);
              group.gtopkAllreduce(two, two, 1, sparsecollSum, &residual);
              group.sparseAllreducev(entry, all, kAll);
              group.sparseAlltoall(entry, arrived, counts);
              group.sparseReduceScatter(none, part, 3);
              std::string wrong = unless(one[0] == 1.0f, "an output before the end");
              const std::uint64_t before = comm.sequence();
              group.end();
              if (!blocking) {
                wrong += throws(sparsecollTruncated, "", [&] { comm.synchronize(); });
                comm.fetch(all);
                comm.fetch(arrived, counts);
              }
              wrong += unless(comm.sequence() == before + 1, "one call");
              wrong += same<float>("the sum", one, std::vector<float>(6, p));
              wrong += same<float>("the top-1", two, {2 * p, 0, 0, 0});
              wrong += same<float>("the residual", residual.read(), {0, 2, 2, 2});
              wrong += unless(all.nnz() == static_cast<std::size_t>(P), "the sum of entries");
              std::size_t from_all = 0;
              for (const std::size_t from : counts) from_all += from;
              wrong += unless(from_all == arrived.nnz(), "what arrived");
              wrong += throws(sparsecollInvalidUsage, "has ended", [&] { group.end(); });
              wrong += throws(sparsecollInvalidUsage, "has ended",
                              [&] { group.sparseAllreduce(one, one, 6); });
              return wrong;
            }) == "");
    }
  }
}

TEST_CASE("an exception cancels the group on all ranks, and no destroyed argument is accessed") {
  for (int P = 1; P <= 4; ++P) {
    CHECK(with_team(P, quick_config(), [P](Communicator& comm) {
            std::vector<float> x(50, 1.0f), y(50, 7.0f), z(50, 7.0f);
            Residual<float> residual(comm, x.size());
            std::string wrong;
            try {
              Group group(comm);
              // These are destroyed before the group. Sanitizers detect any later access.
              auto entries = std::make_unique<SparseVector<float>>(
                  50, std::vector<std::uint32_t>{1}, std::vector<float>{1.0f});
              auto all = std::make_unique<SparseVector<float>>();
              group.sparseAllreduce(x, y, 5, sparsecollSum, &residual);
              group.sparseAllreducev(*entries, *all, kAll);
              if (comm.rank() == P - 1) throw std::logic_error("in the middle");
              group.sparseAllreduce(x, z, 5);
              group.end();
              wrong += "the group was not cancelled; ";
            } catch (const Error& error) {
              wrong += unless(comm.rank() != P - 1 && error.code() == sparsecollInvalidUsage,
                              error.what());
            } catch (const std::logic_error&) {
              wrong += unless(comm.rank() == P - 1, "the rank that threw");
            }
            wrong += same<float>("an untouched output", y, std::vector<float>(50, 7.0f));
            wrong += same<float>("the residual", residual.read(), std::vector<float>(50));
            comm.sparseAllreduce(x, y, 50, sparsecollSum, &residual);
            wrong += same<float>("the sum", y, std::vector<float>(50, static_cast<float>(P)));
            return wrong;
          }) == "");
  }
}

TEST_CASE("a bad output is detected when the call is added to the group") {
  CHECK(with_team(2, quick_config(), [](Communicator& comm) {
          std::vector<float> x(5, 1.0f), y(comm.rank() == 0 ? 4 : 5, 7.0f);
          const auto attempt = [&] {
            Group group(comm);
            group.sparseAllreduce(x, y, 2);
            group.end();
          };
          const std::string wrong =
              comm.rank() == 0 ? throws(sparsecollInvalidArgument, "recv: expected 5", attempt)
                               : throws(sparsecollInvalidUsage, "rank 0", attempt);
          comm.sparseAllreduce(x, x, 5);
          return wrong + same<float>("the sum", x, std::vector<float>(5, 2.0f));
        }) == "");
}

TEST_CASE("a group of a failed communicator throws its error, and its destructor throws nothing") {
  std::vector<Communicator> comms = Communicator::initAll(1);
  std::vector<float> x(5, 1.0f);
  comms[0].abort();
  {
    Group unused(comms[0]);
    unused.sparseAllreduce(x, x, 5);
  }
  Group group(comms[0]);
  group.sparseAllreduce(x, x, 5);
  CHECK(throws(sparsecollInvalidUsage, "aborted", [&] { group.end(); }) == "");
}

}  // namespace
}  // namespace sparsecoll::test
