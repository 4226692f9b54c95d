// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>

#include <numeric>

#include "report.hpp"
#include "world.hpp"

namespace sparsecoll::info {

namespace {

class MpiWorld final : public World {
 public:
  explicit MpiWorld(bool over_ucx) : over_ucx_(over_ucx) {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiWorld() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> allgather(const std::string& mine) override {
    const auto ranks = static_cast<size_t>(size_);
    const auto length = static_cast<int>(mine.size());
    std::vector<int> lengths(ranks), starts(ranks, 0);
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
    std::string all(static_cast<size_t>(starts.back() + lengths.back()), ' ');
    MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(),
                   MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (size_t r = 0; r < ranks; ++r)
      texts.push_back(all.substr(static_cast<size_t>(starts[r]), static_cast<size_t>(lengths[r])));
    return texts;
  }

  sparsecollResult_t connect(sparsecollComm_t* comm) override {
    if (!over_ucx_) return sparsecollCommInitMpi(comm, MPI_COMM_WORLD, nullptr);
    const auto gather = [](void*, const void* own, void* all, size_t bytes) {
      const auto count = static_cast<int>(bytes);
      return MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD);
    };
    return sparsecollCommInitOob(comm, size_, rank_, gather, nullptr, nullptr);
  }

  std::string transport() const override { return over_ucx_ ? "ucx" : "mpi"; }

 private:
  const bool over_ucx_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::optional<std::string> mpi_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string text(version, static_cast<size_t>(length));
  return text.substr(0, text.find_first_of(",\n"));
}

std::unique_ptr<World> world_of_mpi(bool over_ucx) { return std::make_unique<MpiWorld>(over_ucx); }

}  // namespace sparsecoll::info
