// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sparsecoll {

/// A list of pending MPI requests. Each has an Owner that says what it is for; an Owner has a
/// member `peer`.
///
/// Requests of one peer mostly complete in the order in which they were started. So only the oldest
/// pending request of each peer is tested, because every test makes MPI poll the network.
/// (MPI_Testsome would poll once. But when a request fails in it, MPICH ends the process, whatever
/// the communicator's error handler is.)
template <class Owner>
class MpiRequests {
 public:
  explicit MpiRequests(size_t peers) : pending_in_(peers) {}

  bool empty() const { return requests_.empty(); }
  const std::vector<Owner>& owners() const { return owners_; }

  /// Makes room for `more` requests, so that start() does not throw for them.
  void reserve(size_t more) {
    const size_t count = requests_.size() + more;
    if (count <= std::min(requests_.capacity(), owners_.capacity())) return;
    requests_.reserve(2 * count);
    owners_.reserve(2 * count);
  }

  /// Adds a request. `call` starts it in MPI and returns MPI's code, which this function returns.
  /// Memory is reserved first, so that a request that MPI has started is never lost.
  template <class Call>
  int start(Owner owner, Call&& call) {
    reserve(1);
    owners_.push_back(std::move(owner));
    const int code = call(&requests_.emplace_back(MPI_REQUEST_NULL));
    if (code != MPI_SUCCESS) {
      requests_.pop_back();
      owners_.pop_back();
    }
    return code;
  }

  /// Calls `take(owner, status, code)` for every request that is complete, and removes it. `code`
  /// is MPI's result of the request. `take` must not throw.
  template <class Take>
  void test(Take&& take) {
    ++round_;
    bool any_completed = false;
    for (size_t i = 0; i < requests_.size(); ++i) {
      size_t& pending_in = pending_in_[static_cast<size_t>(owners_[i].peer)];
      if (pending_in == round_) continue;
      int done = 0;
      MPI_Status status;
      const int code = MPI_Test(&requests_[i], &done, &status);
      if (code == MPI_SUCCESS && !done) {
        pending_in = round_;
        continue;
      }
      take(owners_[i], status, code);
      requests_[i] = MPI_REQUEST_NULL;
      any_completed = true;
    }
    if (any_completed) remove_completed();
  }

  /// Forgets all requests. They stay pending in MPI.
  void forget() noexcept {
    requests_.clear();
    owners_.clear();
  }

 private:
  void remove_completed() {
    size_t left = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (left != i) {
        requests_[left] = requests_[i];
        owners_[left] = std::move(owners_[i]);
      }
      ++left;
    }
    requests_.resize(left);
    owners_.erase(owners_.begin() + static_cast<std::ptrdiff_t>(left), owners_.end());
  }

  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;
  /// By peer: the last round of test() in which the peer's oldest request was still pending.
  std::vector<size_t> pending_in_;
  size_t round_ = 0;
};

}  // namespace sparsecoll
