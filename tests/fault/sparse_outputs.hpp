// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault/random_call.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::fault {

/// The outputs in coordinate form of all ranks, and their expected contents.
template <class T>
class SparseOutputs {
 public:
  /// Allocates capacity for the expected entries, or less on some ranks if `too_small`.
  SparseOutputs(const oracle::PerRank<oracle::Sparse<T>>& want, int index_type, bool too_small)
      : want_(want) {
    for (size_t r = 0; r < want.size(); ++r) {
      const size_t needed = want[r].size();
      const bool small = too_small && r % 2 == 0 && needed > 0;
      too_small_.push_back(small);
      recvs_.emplace_back(size_t{7}, index_type, small ? needed / 2 : needed + r);
      initial_images_.push_back(recvs_.back().image());
    }
  }

  sparsecollSparse_t* get(int rank) { return recvs_[static_cast<size_t>(rank)].get(); }
  bool too_small(int rank) const { return too_small_[static_cast<size_t>(rank)]; }

  std::string check(int rank, sparsecollComm_t comm, bool may_fetch) {
    const auto r = static_cast<size_t>(rank);
    const sparsecollSparse_t& recv = *recvs_[r].get();
    if (recv.needed != want_[r].size())
      return "recv.needed = " + std::to_string(recv.needed) + " instead of " +
             std::to_string(want_[r].size());
    if (!too_small(rank)) return test::difference("recv", recvs_[r].entries(), want_[r]);
    if (recv.nnz != 0) return "recv.nnz is not 0 though it was too small";
    if (!may_fetch) return "";
    test::SparseBuffer<T> larger(0, recv.indexType, want_[r].size());
    // sparsecollFetch finds the result of a group by the address of the struct.
    sparsecollSparse_t& target = *recvs_[r].get();
    target.indices = larger.get()->indices;
    target.values = larger.get()->values;
    target.capacity = larger.get()->capacity;
    const std::string verdict =
        test::expect("sparsecollFetch", sparsecollFetch(&target, nullptr, comm, nullptr),
                     sparsecollSuccess, comm);
    larger.get()->nnz = target.nnz;
    return verdict.empty() ? test::difference("fetched", larger.entries(), want_[r]) : verdict;
  }

  std::string check_untouched(int rank) const {
    const auto r = static_cast<size_t>(rank);
    return recvs_[r].image() == initial_images_[r] ? "" : "recv was written";
  }

 private:
  oracle::PerRank<oracle::Sparse<T>> want_;
  std::vector<test::SparseBuffer<T>> recvs_;
  std::vector<std::vector<uint64_t>> initial_images_;
  std::vector<bool> too_small_;
};

inline int random_index_type(Random& random) {
  return random.one_in(3) ? sparsecollIndex64 : sparsecollIndex32;
}

}  // namespace sparsecoll::fault
