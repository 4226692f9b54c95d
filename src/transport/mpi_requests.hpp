// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/mpi_share.hpp"

namespace sparsecoll {

/// Requests of MPI that are under way, and what each is for. One call of MPI moves them all: a test
/// of each would look at the network as often as there are some that are not done.
template <class Owner>
class MpiRequests {
 public:
  bool empty() const { return requests_.empty(); }
  const std::vector<Owner>& owners() const { return owners_; }

  /// The place of one more, for MPI to fill in. It is made first: a request that is under way must
  /// not be lost for want of memory.
  MPI_Request& add(Owner owner) {
    const size_t count = requests_.size() + 1;
    requests_.reserve(std::max(count, requests_.capacity()));
    indices_.resize(std::max(count, indices_.size()));
    statuses_.resize(std::max(count, statuses_.size()));
    owners_.push_back(std::move(owner));
    return requests_.emplace_back(MPI_REQUEST_NULL);
  }
  /// That one was not begun after all.
  void remove_last() {
    requests_.pop_back();
    owners_.pop_back();
  }

  /// Hands over those that are done as `take(owner, status, code)`, which throws nothing; code:
  /// MPI's.
  template <class Take>
  void test(Take&& take) {
    if (requests_.empty()) return;
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  indices_.data(), statuses_.data());
    if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
    for (int i = 0; i < count; ++i) {
      const MPI_Status& status = statuses_[static_cast<size_t>(i)];
      take(owners_[static_cast<size_t>(indices_[static_cast<size_t>(i)])], status,
           code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR);
    }
    if (count > 0) forget_done();
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
  std::vector<int> indices_;  ///< room for what MPI says, as for all of them
  std::vector<MPI_Status> statuses_;
};

}  // namespace sparsecoll
