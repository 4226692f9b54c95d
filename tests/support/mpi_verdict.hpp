// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>
#include <sparsecoll/sparsecoll_mpi.h>

#include <functional>
#include <string>
#include <vector>

namespace sparsecoll::test {

/// The errors that one rank found; after the reduction, those of all ranks.
class Verdict {
 public:
  /// Notes a failure unless `text` is empty.
  void check(const std::string& what, const std::string& text);
  /// Notes a failure unless `good`.
  void require(const std::string& what, bool good);

  /// Returns whether any rank failed so far. Collective over MPI_COMM_WORLD. Tests that would hang
  /// if the ranks disagree call it before they go on.
  bool any_failed() const;

  /// Prints all failures on rank 0, and returns the exit code, which is the same on all ranks.
  /// Collective over MPI_COMM_WORLD.
  int report(const char* program) const;

 private:
  std::vector<std::string> failures_;
};

/// Runs body() on all ranks, and again on all while nothing but lateness is wrong, at most three
/// times. Returns this rank's last verdict. Collective over MPI_COMM_WORLD.
std::string unless_a_rank_is_late(const std::function<std::string()>& body);

/// with_longer_deadlines() on all ranks: runs body(ms) again on all while any rank's verdict speaks
/// of a deadline that passed, or of something late. Returns this rank's last verdict. Collective
/// over MPI_COMM_WORLD.
std::string with_longer_deadlines_of_ranks(int first_ms,
                                           const std::function<std::string(int ms)>& body);

/// A communicator over MPI for the length of a scope. Throws with the library's message when the
/// init fails.
class MpiCommunicator {
 public:
  MpiCommunicator(MPI_Comm mpi, const sparsecollConfig_t& config);
  ~MpiCommunicator();
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  sparsecollComm_t get() const { return comm_; }
  sparsecollResult_t destroy();

 private:
  sparsecollComm_t comm_ = nullptr;
};

/// Returns whether the text is not "" on any rank. Collective over MPI_COMM_WORLD.
bool fails_on_any(const std::string& text);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);

}  // namespace sparsecoll::test
