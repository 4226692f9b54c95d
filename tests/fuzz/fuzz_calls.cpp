// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_calls.hpp"

#include <mutex>

#include "calls/framed/framed_link.hpp"
#include "support/data.hpp"
#include "transport/recording_transport.hpp"

namespace sparsecoll::unit {

namespace {

// No call waits for this deadline, because all peers close before the calls begin.
constexpr int kTimeoutMs = 20000;

Config config_of(FuzzCall call) {
  Config config;
  config.values.timeoutMs = kTimeoutMs;
  if (call == FuzzCall::kAllgather) config.values.algorithm = sparsecollAlgoAllgather;
  if (call == FuzzCall::kOktopk || call == FuzzCall::kReuse)
    config.values.algorithm = sparsecollAlgoOktopk;
  if (call == FuzzCall::kTopkA2A) config.values.algorithm = sparsecollAlgoTopkA2A;
  if (call == FuzzCall::kHierarchical) config.values.algorithm = sparsecollAlgoHierarchical;
  if (call == FuzzCall::kSharded) config.values.algorithm = sparsecollAlgoSharded;
  if (call == FuzzCall::kHierarchical || call == FuzzCall::kSharded) config.ranks_per_node = 2;
  if (call == FuzzCall::kDense) config.values.algorithm = sparsecollAlgoDense;
  if (call == FuzzCall::kReuse) config.values.selection = sparsecollSelectReuse;
  return config;
}

oracle::Sparse<int64_t> few_integers(int rank) {
  return {{static_cast<uint64_t>(rank), 5}, {30, -1}, {63, rank}};
}

}  // namespace

FuzzRank::FuzzRank(std::unique_ptr<Transport> transport, FuzzCall call)
    : call_(call),
      rank_(transport->rank()),
      send_(test::make_data<float>(test::Kind::kHeavyTail, kLength, rank_, transport->size(), 1)),
      integers_(kLength, sparsecollIndex32, few_integers(rank_)) {
  const auto communicator = std::make_shared<Communicator>(
      std::make_unique<FramedLink>(std::move(transport)), config_of(call));
  communicator->start();
  comm_ = static_cast<sparsecollComm_t>(communicators().insert(communicator));
}

FuzzRank::~FuzzRank() { sparsecollCommDestroy(comm_); }

sparsecollResult_t FuzzRank::dense(std::vector<float>& out) {
  return sparseAllreduce(send_.data(), out.data(), kLength, kKept, sparsecollFloat32, sparsecollSum,
                         nullptr, comm_, nullptr);
}

sparsecollResult_t FuzzRank::group() {
  sparsecollGroupStart(comm_);
  dense(recv_);
  gtopkAllreduce(send_.data(), other_.data(), kLength, kKept, sparsecollFloat32, sparsecollSum,
                 nullptr, comm_, nullptr);
  return sparsecollGroupEnd(comm_);
}

sparsecollResult_t FuzzRank::gossip() {
  sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  config.graph = sparsecollGraphRing;
  config.maxDelay = call_ == FuzzCall::kGossip ? 1 : 0;
  config.k = call_ == FuzzCall::kGossip ? 0 : kKept;
  config.mixing = 0.5;
  sparsecollPushSum_t state = nullptr;
  sparsecollResult_t result =
      sparsecollPushSumCreate(&state, kLength, sparsecollFloat32, &config, comm_);
  for (int step = 0; step < 2 && result == sparsecollSuccess; ++step)
    result =
        pushSumStep(send_.data(), other_.data(), kLength, sparsecollFloat32, state, comm_, nullptr);
  if (result == sparsecollSuccess)
    result = sparsecollPushSumDrain(state, send_.data(), nullptr, nullptr);
  return result;
}

sparsecollResult_t FuzzRank::make() {
  sparsecollComm_t child = nullptr;
  switch (call_) {
    case FuzzCall::kAllgather:
    case FuzzCall::kOktopk:
    case FuzzCall::kTopkA2A:
    case FuzzCall::kDense:
    case FuzzCall::kReuse:
    case FuzzCall::kHierarchical:
    case FuzzCall::kSharded:
      return dense(recv_);
    case FuzzCall::kGtopk:
      return gtopkAllreduce(send_.data(), recv_.data(), kLength, kKept, sparsecollFloat32,
                            sparsecollAvg, nullptr, comm_, nullptr);
    case FuzzCall::kSum:
      return sparseAllreducev(integers_.get(), sums_.get(), SPARSECOLL_ALL, sparsecollSum, nullptr,
                              comm_, nullptr);
    case FuzzCall::kAlltoall:
      return sparseAlltoall(integers_.get(), sums_.get(), nullptr, nullptr, comm_, nullptr);
    case FuzzCall::kReduceScatter:
      return sparseReduceScatter(send_.data(), entries_.get(), kLength, kKept, sparsecollFloat32,
                                 sparsecollSum, nullptr, nullptr, comm_, nullptr);
    case FuzzCall::kGroup:
      return group();
    case FuzzCall::kSplit:  // without a color: the other ranks could not join a new communicator
      return sparsecollCommSplit(comm_, SPARSECOLL_SPLIT_NOCOLOR, 0, &child, nullptr);
    case FuzzCall::kGossip:
    case FuzzCall::kCompressedGossip:
      return gossip();
  }
  return sparsecollInternalError;
}

FuzzRecord record_calls(FuzzCall call, int P) {
  FuzzRecord record;
  std::mutex mutex;
  std::vector<std::unique_ptr<Transport>> transports;
  for (auto& below : make_local_transports(P)) {
    const int from = below->rank();
    const auto sent = [&record, &mutex, from](int to, ConstBytes message) {
      const std::lock_guard lock(mutex);
      record.messages.push_back({from, to, {message.begin(), message.end()}});
    };
    transports.push_back(std::make_unique<RecordingTransport>(std::move(below), sent));
  }
  const std::string verdict = test::run_threads("record", P, [&](int rank) -> std::string {
    FuzzRank each(std::move(transports[static_cast<size_t>(rank)]), call);
    return each.make() == sparsecollSuccess ? "" : each.message();
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
  return record;
}

}  // namespace sparsecoll::unit
