// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sparsecoll::perf {

/// A connection that carries messages: a length, and so many bytes.
class Line {
 public:
  explicit Line(int fd);
  void send(std::span<const std::byte> bytes) const;
  std::vector<std::byte> receive() const;

 private:
  void send_all(const void* data, std::size_t bytes) const;
  void receive_all(void* data, std::size_t bytes) const;
  int fd_;
};

/// The processes that perf/launch or torchrun has started. Each has a TCP connection to rank 0.
class SocketWorld {
 public:
  /// Returns true if the variables of such a launcher are set.
  static bool is_launched();

  /// Connects. Throws std::runtime_error.
  SocketWorld();
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns the bytes that each rank passed, in rank order. Lengths may differ. Collective.
  std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> mine) const;

 private:
  int rank_;
  int size_;
  std::vector<Line> lines_;  ///< rank 0: to each rank, the first is not used; others: to rank 0
};

}  // namespace sparsecoll::perf
