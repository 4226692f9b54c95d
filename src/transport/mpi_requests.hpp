// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sparsecoll {

/// Requests of MPI that are under way, and what each is for: an Owner, which has a `peer`. Those of
/// one peer are done in the order in which they were begun, mostly, so that of each peer only the
/// first that is not done is tested: every such test has MPI look at the network. (MPI_Testsome
/// would look once; but MPICH ends the process where it finds an error, whatever the communicator
/// of the request says.)
template <class Owner>
class MpiRequests {
 public:
  explicit MpiRequests(size_t peers) : looked_at_(peers) {}

  bool empty() const { return requests_.empty(); }
  const std::vector<Owner>& owners() const { return owners_; }

  /// Room for that many more: begin() does not throw then.
  void reserve(size_t more) {
    const size_t count = requests_.size() + more;
    if (count <= std::min(requests_.capacity(), owners_.capacity())) return;
    requests_.reserve(2 * count);
    owners_.reserve(2 * count);
  }

  /// One more, which `call` has MPI begin and fill in; returns its code. The place is made first: a
  /// request that is under way must not be lost for want of memory.
  template <class Call>
  int begin(Owner owner, Call&& call) {
    reserve(1);
    owners_.push_back(std::move(owner));
    const int code = call(&requests_.emplace_back(MPI_REQUEST_NULL));
    if (code != MPI_SUCCESS) {
      requests_.pop_back();
      owners_.pop_back();
    }
    return code;
  }

  /// Hands over those that are done as `take(owner, status, code)`, which throws nothing; code:
  /// MPI's.
  template <class Take>
  void test(Take&& take) {
    ++round_;
    bool any = false;
    for (size_t i = 0; i < requests_.size(); ++i) {
      size_t& looked_at = looked_at_[static_cast<size_t>(owners_[i].peer)];
      if (looked_at == round_) continue;
      int done = 0;
      MPI_Status status;
      const int code = MPI_Test(&requests_[i], &done, &status);
      if (code == MPI_SUCCESS && !done) {
        looked_at = round_;
        continue;
      }
      take(owners_[i], status, code);
      requests_[i] = MPI_REQUEST_NULL;
      any = true;
    }
    if (any) forget_done();
  }

  /// They stay under way, for ever.
  void forget() noexcept {
    requests_.clear();
    owners_.clear();
  }

 private:
  void forget_done() {
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
  std::vector<size_t> looked_at_;  ///< by peer: the round in which one was not done
  size_t round_ = 0;
};

}  // namespace sparsecoll
