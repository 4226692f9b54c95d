// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault/random_call.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::fault {

/// The outputs in coordinate form of all ranks, with what must come into them.
template <class T>
class SparseOutputs {
 public:
  /// Capacity for what is wanted, or less on some ranks.
  SparseOutputs(const oracle::PerRank<oracle::Sparse<T>>& want, int index_type, bool too_small)
      : want_(want) {
    for (size_t r = 0; r < want.size(); ++r) {
      const size_t needed = want[r].size();
      const bool little = too_small && r % 2 == 0 && needed > 0;
      too_small_.push_back(little);
      recvs_.emplace_back(size_t{7}, index_type, little ? needed / 2 : needed + r);
      at_first_.push_back(recvs_.back().image());
    }
  }

  sparsecollSparse_t* get(int rank) { return recvs_[static_cast<size_t>(rank)].get(); }
  bool too_small(int rank) const { return too_small_[static_cast<size_t>(rank)]; }

  std::string check(int rank, sparsecollComm_t comm, bool fetches) {
    const auto r = static_cast<size_t>(rank);
    const sparsecollSparse_t& recv = *recvs_[r].get();
    if (recv.needed != want_[r].size())
      return "recv.needed = " + std::to_string(recv.needed) + " instead of " +
             std::to_string(want_[r].size());
    if (!too_small(rank)) return test::difference("recv", recvs_[r].entries(), want_[r]);
    if (recv.nnz != 0) return "recv.nnz is not 0 though it was too small";
    if (!fetches) return "";
    test::SparseBuffer<T> larger(0, recv.indexType, want_[r].size());
    // In a group the struct says whose data are wanted.
    sparsecollSparse_t& same = *recvs_[r].get();
    same.indices = larger.get()->indices;
    same.values = larger.get()->values;
    same.capacity = larger.get()->capacity;
    const std::string verdict = test::expect(
        "sparsecollFetch", sparsecollFetch(&same, nullptr, comm, nullptr), sparsecollSuccess, comm);
    larger.get()->nnz = same.nnz;
    return verdict.empty() ? test::difference("fetched", larger.entries(), want_[r]) : verdict;
  }

  std::string check_untouched(int rank) const {
    const auto r = static_cast<size_t>(rank);
    return recvs_[r].image() == at_first_[r] ? "" : "recv was written";
  }

 private:
  oracle::PerRank<oracle::Sparse<T>> want_;
  std::vector<test::SparseBuffer<T>> recvs_;
  std::vector<std::vector<uint64_t>> at_first_;
  std::vector<bool> too_small_;
};

inline int random_index_type(Dice& dice) {
  return dice.one_in(3) ? sparsecollIndex64 : sparsecollIndex32;
}

}  // namespace sparsecoll::fault
