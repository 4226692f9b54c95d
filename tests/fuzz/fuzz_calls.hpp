// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared by fuzz_frames.cpp and its corpus: the calls that a rank makes while it receives any
// messages, and the format of an input.

#include <cstdint>
#include <memory>
#include <vector>

#include "api/communicators.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::unit {

/// The call that rank 0 makes.
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
  kHierarchical,  ///< with two ranks on a node
  kSharded        ///< likewise
};
inline constexpr uint8_t kFuzzCalls = 15;

/// The head of a message in an input. `bytes` bytes of payload follow.
struct FuzzFrame {
  uint8_t form;  ///< bits 0 and 1: kind - 1; higher bits: kFuzzRaw and the others below
  uint8_t peer;
  uint8_t covered_first;
  uint8_t covered_count;
  uint8_t bytes[2];
};
static_assert(sizeof(FuzzFrame) == 6);
inline constexpr uint8_t kFuzzRaw = 4;      ///< the payload is the complete message with its header
inline constexpr uint8_t kFuzzForeign = 8;  ///< the header has another descriptor
inline constexpr uint8_t kFuzzLate = 16;    ///< in a fatal notice: the peer's deadline passed
inline constexpr int kFuzzSequence = 5;     ///< bits 5 to 7: call number - 1
/// An input has one byte for the call, one for P - 2, and then messages.
inline constexpr size_t kFuzzPrefix = 2;

/// One rank and the buffers of its calls.
class FuzzRank {
 public:
  FuzzRank(std::unique_ptr<Transport> transport, FuzzCall call);
  ~FuzzRank();
  FuzzRank(const FuzzRank&) = delete;
  FuzzRank& operator=(const FuzzRank&) = delete;

  /// Makes the call of this rank. For gossip, creates a state, makes steps and drains.
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

/// The messages that all ranks send in a call without faults.
struct FuzzRecord {
  struct Message {
    int from;
    int to;
    std::vector<std::byte> bytes;
  };
  std::vector<Message> messages;
};
/// Makes the call on P ranks and returns their messages.
FuzzRecord record_calls(FuzzCall call, int P);

}  // namespace sparsecoll::unit
