// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Shrinks over NCCL with residuals that replays of CUDA graphs have changed.

#include "devices/graph.hpp"
#include "nccl/api_team.hpp"
#include "nccl/stand_in_library.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/longer_deadlines.hpp"

namespace sparsecoll::nccl_tests {
namespace {

using devices::Graph;

constexpr size_t kCount = 50, kKept = 6;

/// The calls of one rank with one residual.
class Training {
 public:
  Training(sparsecollComm_t comm, int rank)
      : residual_(comm, kCount),
        x_(test::make_data<float>(test::Kind::kWideIntegers, kCount, rank, 3, 1)),
        sum_(kCount) {}

  sparsecollResult_t call(sparsecollComm_t comm) const {
    return gtopkAllreduce(x_.get(), sum_.get(), kCount, kKept, sparsecollFloat32, sparsecollSum,
                          residual_.handle(), comm, stream);
  }
  void must_call(sparsecollComm_t comm) const {
    if (call(comm) != sparsecollSuccess) throw std::runtime_error(sparsecollGetLastError(comm));
  }
  /// Makes a call, and replays a graph of it.
  void replay(sparsecollComm_t comm, int replays) const {
    must_call(comm);
    const Graph graph(stream, [&] { must_call(comm); });
    for (int each = 0; each < replays; ++each) graph.launch(stream);
    devices::check(cudaStreamSynchronize(stream));
  }
  sparsecollResult_t move(sparsecollComm_t made) const {
    return sparsecollResidualMove(residual_.handle(), made);
  }
  std::string differs_from(const Training& other) const {
    return test::difference("result", sum_.read(stream), other.sum_.read(other.stream)) +
           test::difference("residual", residual_.read(), other.residual_.read());
  }

  OwnStream stream;

 private:
  test::Residual<float> residual_;
  DeviceArray<float> x_, sum_;
};

sparsecollResult_t shrink(sparsecollComm_t comm, int without, sparsecollComm_t* made) {
  return sparsecollCommShrink(comm, &without, without < 0 ? 0 : 1, made, nullptr);
}

TEST_CASE("a residual that a graph has changed moves from a healthy communicator") {
  const Team team(2), eager(2);
  CHECK(team.run("healthy", [&](int rank) -> std::string {
    const sparsecollComm_t comm = team.comm(rank);
    const Training moved(comm, rank), stays(eager.comm(rank), rank);
    moved.replay(comm, 4);
    for (int call = 0; call < 5; ++call) stays.must_call(eager.comm(rank));
    sparsecollComm_t made = nullptr;
    std::string wrong = result_mismatch(shrink(comm, -1, &made), sparsecollSuccess, comm);
    if (!wrong.empty()) return wrong;
    wrong += result_mismatch(moved.move(made), sparsecollSuccess, made);
    wrong += moved.differs_from(stays);
    for (int call = 0; call < 3; ++call) {
      moved.must_call(made);
      stays.must_call(eager.comm(rank));
      wrong += moved.differs_from(stays);
    }
    return wrong + destroy_mismatch(sparsecollCommDestroy(made));
  }) == "");
}

/// A rank dies after graphs have been replayed.
std::string shrink_after_failure(int timeout_ms) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = timeout_ms;
  const Team team(3, config);
  std::vector<std::unique_ptr<Training>> trainings(3);
  const std::string failed = team.run("replays", [&](int rank) -> std::string {
    auto& own = trainings[static_cast<size_t>(rank)];
    own = std::make_unique<Training>(team.comm(rank), rank);
    own->replay(team.comm(rank), 2);
    return "";
  });
  if (!failed.empty()) return failed;
  nccl_stand_in::die_in_group(last_child_of(team.user_comms()[1]), 1);
  return team.run("a rank dies", [&](int rank) -> std::string {
    const sparsecollComm_t comm = team.comm(rank);
    const Training& own = *trainings[static_cast<size_t>(rank)];
    own.call(comm);
    std::string wrong = result_mismatch(sparsecollCommSynchronize(comm), sparsecollTimeout, comm);
    if (rank == 1) return wrong;
    sparsecollComm_t made = nullptr;
    wrong += result_mismatch(shrink(comm, 1, &made), sparsecollSuccess, comm);
    if (!wrong.empty()) return wrong;
    wrong += result_mismatch(own.move(made), sparsecollInvalidUsage, made, "CUDA graph");
    return wrong + destroy_mismatch(sparsecollCommDestroy(made));
  });
}

TEST_CASE("a residual that a graph has changed does not move after a failure") {
  CHECK(test::with_longer_deadlines(800, shrink_after_failure) == "");
}

}  // namespace
}  // namespace sparsecoll::nccl_tests
