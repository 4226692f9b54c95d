// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>

#include <climits>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "common/ranks.hpp"

namespace sparsecoll::perf {
namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size_of_world() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(bool over_ucx) : Ranks(rank_of_world(), size_of_world()), over_ucx_(over_ucx) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  }
  ~MpiRanks() override {
    // MPI_Finalize is collective, and after an exception the peers may not call it.
    if (std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }

  void barrier() override { MPI_Barrier(comm_); }

  std::vector<Bytes> allgather(std::span<const std::byte> mine) override {
    const unsigned long long length = mine.size();
    std::vector<unsigned long long> lengths(size());
    MPI_Allgather(&length, 1, MPI_UNSIGNED_LONG_LONG, lengths.data(), 1, MPI_UNSIGNED_LONG_LONG,
                  comm_);
    const auto total = std::accumulate(lengths.begin(), lengths.end(), 0ULL);
    if (total > INT_MAX) {
      throw std::runtime_error("the check gathers more than 2 GiB here; run this shape with -c 0");
    }
    std::vector<int> counts(lengths.begin(), lengths.end());
    std::vector<int> starts(size(), 0);
    std::partial_sum(counts.begin(), counts.end() - 1, starts.begin() + 1);
    Bytes all(total);
    MPI_Allgatherv(mine.data(), counts[rank()], MPI_BYTE, all.data(), counts.data(), starts.data(),
                   MPI_BYTE, comm_);
    std::vector<Bytes> by_rank;
    for (int r = 0; r < size(); ++r) {
      const auto first = all.begin() + starts[r];
      by_rank.emplace_back(first, first + counts[r]);
    }
    return by_rank;
  }

  Communicator connect(const sparsecollConfig_t& config) override {
    sparsecollComm_t comm = nullptr;
    if (over_ucx_) {
      const auto gather = [](void* user, const void* own, void* all, std::size_t bytes) {
        const auto count = static_cast<int>(bytes);
        return MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE,
                             static_cast<MpiRanks*>(user)->comm_);
      };
      require(sparsecollCommInitOob(&comm, size(), rank(), gather, this, &config), nullptr,
              "sparsecollCommInitOob");
      return Communicator(comm);
    }
    require(sparsecollCommInitMpi(&comm, comm_, &config), nullptr, "sparsecollCommInitMpi");
    return Communicator(comm);
  }

 private:
  const bool over_ucx_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

bool mpi_available() { return true; }

int launch_mpi(const Body& body, bool over_ucx) {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  int status = 1;
  try {
    MpiRanks ranks(over_ucx);
    status = body(ranks);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "rank %d: %s\n", rank_of_world(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

}  // namespace sparsecoll::perf
