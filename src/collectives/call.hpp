// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/stats.hpp"
#include "core/types.hpp"

namespace sparsecoll {

class Kernels;

/// A message to be sent, in the place's memory. kHeadroom bytes in front of `data` belong to the
/// Call, which frames it there.
struct Packet {
  std::byte* data = nullptr;       ///< null: nothing is sent
  size_t bound = 0;                ///< bytes at most; the receiver's in_bound where that is known
  const uint64_t* used = nullptr;  ///< bytes, a count in the place's memory; null: exactly bound
  size_t room = kAll;              ///< bytes that are there; may be fewer than the agreed bound
};

/// What is sent to and received from one peer in one exchange.
struct Leg {
  int peer = 0;
  Packet out;
  size_t in_bound = 0;  ///< bytes at most; 0: nothing is received; kUnknownSize: any size
  ConstBytes in;        ///< set by exchange(); lives as long as the call
};
inline constexpr size_t kUnknownSize = kAll;

/// One collective call in progress, as the algorithms see it. Agreement between the ranks lives
/// behind it: an exchange throws when a rank abandoned the call.
class Call {
 public:
  virtual ~Call() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends in the order of the legs, receives all of them; waits for what comes in. Where every
  /// in_bound is known, a stream-ordered implementation need not wait.
  virtual void exchange(std::span<Leg> legs) = 0;
};

/// A call as the verb sees it that makes it: it also ends with the agreement of all ranks.
class AgreedCall : public Call {
 public:
  /// Whose counts say how much of a packet is used.
  virtual void read_with(Kernels& kernels) = 0;
  virtual Stats& stats() = 0;
  /// Number of the call.
  virtual uint64_t sequence() const = 0;
  /// Called when the result is known: checks that all ranks made this call and that everything sent
  /// has left this rank's memory. Only after it are outputs and residuals touched.
  virtual void confirm() = 0;
};

}  // namespace sparsecoll
