// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The end of a communicator in the soak: after its last call a rank makes one of the ranks that
// remain, finds out who they are, moves its residuals there, and destroys the old one.

#include <algorithm>
#include <cstdio>
#include <optional>

#include "soak/queued.hpp"
#include "soak/soak_rank.hpp"
#include "support/attempt.hpp"

namespace sparsecoll::soak {

std::string SoakRank::go_on() {
  const Fault fault = epoch_ ? epoch_->fault() : Fault{};
  const int none = 0;
  bool with_list = !fault.kills() || fault.known;
  std::optional<size_t> state;  // the number of calls of the epoch that count
  for (int attempt = 0; attempt < 8; ++attempt) {
    sparsecollComm_t next = nullptr;
    const sparsecollConfig_t config =
        config_of_epoch(test::noise(options_.seed, born_, 1), options_);
    const int* const list = !with_list ? nullptr : fault.kills() ? &fault.victim : &none;
    const int length = with_list && fault.kills() ? 1 : 0;
    const sparsecollResult_t result = timed("sparsecollCommShrink", [&] {
      return sparsecollCommShrink(comm_, list, length, &next, &config);
    });
    with_list = false;
    if (result != sparsecollSuccess) {
      why_ = text("shrink: ", test::explain(result, comm_));
      continue;
    }
    ++report_.shrinks;
    old_.push_back(comm_);
    comm_ = next;
    born_ = sequence_of(comm_);
    context_.config = config;
    if (!state) state = epoch_ && born_ > base_ ? epoch_->calls_of(born_ - base_) : 0;
    std::vector<int> members;
    const std::string wrong = roll_call(&members);
    if (wrong.empty() && !members.empty()) return adopt(members, *state);
    if (!wrong.empty()) return wrong;
  }
  report_.excluded = true;
  std::fprintf(stderr, "rank %d was left out: %s\n", rank_, why_.c_str());
  return "";
}

std::string SoakRank::roll_call(std::vector<int>* members) {
  auto index = static_cast<uint32_t>(rank_);
  int32_t one = 1;
  std::vector<uint32_t> indices(static_cast<size_t>(size_));
  std::vector<int32_t> values(indices.size());
  sparsecollSparse_t send = SPARSECOLL_SPARSE_INITIALIZER, recv = SPARSECOLL_SPARSE_INITIALIZER;
  send.count = recv.count = recv.capacity = indices.size();
  send.nnz = send.capacity = 1;
  send.datatype = recv.datatype = sparsecollInt32;
  send.indices = &index;
  send.values = &one;
  recv.indices = indices.data();
  recv.values = values.data();
  const sparsecollResult_t result = timed("the first call of a shrunk communicator", [&] {
    return completed(
        gtopkAllreducev(&send, &recv, SPARSECOLL_ALL, sparsecollSum, nullptr, comm_, nullptr),
        comm_, !context_.config.blocking);
  });
  why_ = text("first call: ", test::explain(result, comm_));
  if (result == sparsecollTimeout || result == sparsecollRemoteError) return "";
  if (result != sparsecollSuccess) return why_;
  int own = -1, ranks = 0;
  sparsecollCommRank(comm_, &own);
  sparsecollCommCount(comm_, &ranks);
  for (size_t each = 0; each < recv.nnz; ++each) {
    if (values[each] != 1) return text("rank ", indices[each], " is there more than once");
    members->push_back(static_cast<int>(indices[each]));
  }
  const auto at = std::ranges::find(*members, rank_) - members->begin();
  return ranks == static_cast<int>(recv.nnz) && own == at
             ? ""
             : text("number ", own, " of ", ranks, ", expected ", at, " of ", recv.nnz);
}

std::string SoakRank::adopt(const std::vector<int>& members, size_t state) {
  const Fault fault = epoch_ ? epoch_->fault() : Fault{};
  std::vector<size_t> kept;
  for (const int each : members) {
    const auto at = std::ranges::find(members_, each);
    if (at == members_.end()) return text("rank ", each, " is there again");
    kept.push_back(static_cast<size_t>(at - members_.begin()));
  }
  const int victim = members_[static_cast<size_t>(fault.victim)];
  const bool died = fault.kills() && std::ranges::find(members, victim) == members.end();
  if (died) ++report_.kills;
  // Ranks that the others have given up may still agree among themselves.
  const size_t missing = members_.size() - members.size() - (died ? 1 : 0);
  report_.excluded = missing > members.size();
  if (died && fault.kind == FaultKind::kKillSaving && members[0] == rank_) {
    const std::string wrong = context_.tensors[fault.tensor]->check_file(
        file("saving_" + std::to_string(victim)), fault.victim, context_.P, fault.call);
    if (!wrong.empty()) return "the file of rank " + std::to_string(victim) + ": " + wrong;
    ++report_.dead_files;
  }
  for (const auto& tensor : context_.tensors) {
    const sparsecollResult_t result = tensor->move(comm_);
    if (result != sparsecollSuccess) return text("move: ", test::explain(result, comm_));
    tensor->keep(state, kept);
  }
  members_ = members;
  own_ = static_cast<int>(std::ranges::find(members, rank_) - members.begin());
  context_.P = static_cast<int>(members.size());
  context_.replays.clear();
  base_ = sequence_of(comm_);
  for (const sparsecollComm_t each : old_) {
    const std::string wrong = destroy(each, fault.kind != FaultKind::kNone);
    if (!wrong.empty()) return wrong;
  }
  old_.clear();
  const std::string wrong = check_residuals(0, 0);
  // A residual that is loaded after a call stays as it is when that call is undone. Here all calls
  // count.
  return wrong.empty() ? save_and_load()
                       : text("after the shrink, ", state, " calls count: ", wrong);
}

std::string SoakRank::destroy(sparsecollComm_t comm, bool may_fail) {
  const sparsecollResult_t result =
      timed("sparsecollCommDestroy", [&] { return sparsecollCommDestroy(comm); });
  // Processes destroy a healthy communicator together.
  if (result == sparsecollTimeout || result == sparsecollRemoteError) {
    if (!may_fail) note_unplanned("sparsecollCommDestroy");
    return "";
  }
  return result == sparsecollSuccess ? "" : text("destroy: ", sparsecollGetErrorString(result));
}

std::string SoakRank::save_and_load() {
  if (test::noise(options_.seed, base_, static_cast<uint64_t>(rank_)) % 4 != 0) return "";
  for (const auto& tensor : context_.tensors) {
    const std::string wrong = tensor->save_and_load(own_, file("saved_" + std::to_string(rank_)));
    if (!wrong.empty()) return "saved and loaded: " + wrong;
    ++report_.saves;
  }
  return "";
}

}  // namespace sparsecoll::soak
