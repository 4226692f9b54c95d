// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What fuzz_frames.cpp and its corpus have in common: the calls that a rank makes while messages of
// any content come in, and the form in which an input has them.

#include <cstdint>
#include <memory>
#include <vector>

#include "api/communicators.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::unit {

/// What rank 0 calls.
enum class FuzzCall : uint8_t {
  kAllgather,
  kOktopk,
  kTopkA2A,
  kDense,
  kReuse,
  kGtopk,
  kSum,  ///< sparseAllreducev of int64
  kAlltoall,
  kReduceScatter,
  kGroup,
  kSplit,
  kGossip,
  kCompressedGossip,
  kHierarchical  ///< with two ranks on a node
};
inline constexpr uint8_t kFuzzCalls = 14;

/// In front of each message in an input; `bytes` of it follow.
struct FuzzFrame {
  uint8_t form;  ///< bits 0 and 1: kind - 1; then kFuzzRaw and so on
  uint8_t peer;
  uint8_t covered_first;
  uint8_t covered_count;
  uint8_t bytes[2];
};
static_assert(sizeof(FuzzFrame) == 6);
inline constexpr uint8_t kFuzzRaw = 4;      ///< bytes are the whole message, header and all
inline constexpr uint8_t kFuzzForeign = 8;  ///< with another descriptor
inline constexpr uint8_t kFuzzLate = 16;    ///< of a fatal notice: the peer's deadline passed
inline constexpr int kFuzzSequence = 5;     ///< bits 5 to 7: number of the call - 1
/// An input is the call, P - 2, and messages.
inline constexpr size_t kFuzzPrefix = 2;

/// One rank with what its calls need.
class FuzzRank {
 public:
  FuzzRank(std::unique_ptr<Transport> transport, FuzzCall call);
  ~FuzzRank();
  FuzzRank(const FuzzRank&) = delete;
  FuzzRank& operator=(const FuzzRank&) = delete;

  /// The call of this rank; gossip: the making of a state, a step, a drain.
  sparsecollResult_t make();
  const char* message() const { return sparsecollGetLastError(comm_); }

 private:
  sparsecollResult_t dense(std::vector<float>& out);
  sparsecollResult_t group();
  sparsecollResult_t gossip();

  static constexpr size_t kLength = 64;
  static constexpr size_t kKept = 8;

  FuzzCall call_;
  int rank_;
  sparsecollComm_t comm_;
  std::vector<float> send_;
  std::vector<float> recv_ = std::vector<float>(kLength);
  std::vector<float> other_ = std::vector<float>(kLength);
  test::SparseBuffer<int64_t> integers_;
  test::SparseBuffer<int64_t> sums_{kLength, sparsecollIndex32, size_t{40}};
  test::SparseBuffer<float> entries_{kLength, sparsecollIndex32, size_t{40}};
};

/// What all ranks send where nothing goes wrong.
struct FuzzRecord {
  struct Letter {
    int from;
    int to;
    std::vector<std::byte> bytes;
  };
  std::vector<Letter> letters;
};
FuzzRecord record_calls(FuzzCall call, int P);

}  // namespace sparsecoll::unit
