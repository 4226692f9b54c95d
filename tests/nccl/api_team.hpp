// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks with communicators of the public API over NCCL's stand-in, and their calls of dense verbs.
// The user's communicators of NCCL live as long as the ranks.

#include "nccl/team.hpp"
#include "support/compare.hpp"
#include "support/typed.hpp"

namespace sparsecoll::nccl_tests {

inline sparsecollConfig_t config_with_timeout(int milliseconds) {
  sparsecollConfig_t config = test::default_config();
  config.timeoutMs = milliseconds;
  return config;
}

/// P ranks, each on a device of its own.
class Team {
 public:
  explicit Team(int P, const sparsecollConfig_t& config = test::default_config())
      : user_comms_(P), comms_(static_cast<size_t>(P)) {
    const std::string verdict = run("init", [&](int rank) {
      const auto got =
          sparsecollCommInitNccl(&comms_[static_cast<size_t>(rank)], user_comms_[rank], &config);
      return got == sparsecollSuccess ? "" : std::string(sparsecollGetLastError(nullptr));
    });
    if (!verdict.empty()) {
      for (const sparsecollComm_t each : comms_) {
        if (!each) continue;
        sparsecollCommAbort(each);  // destroy would wait for the others
        sparsecollCommDestroy(each);
      }
      throw std::runtime_error(verdict);
    }
    devices::deferred_frees().ranks_begin();
  }
  ~Team() {
    run("destroy", [&](int rank) {
      if (comm(rank)) sparsecollCommDestroy(comm(rank));
      return std::string();
    });
    devices::deferred_frees().ranks_end();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return user_comms_.size(); }
  const UserComms& user_comms() const { return user_comms_; }
  sparsecollComm_t comm(int rank) const { return comms_[static_cast<size_t>(rank)]; }
  sparsecollResult_t destroy(int rank) {
    return sparsecollCommDestroy(std::exchange(comms_[static_cast<size_t>(rank)], nullptr));
  }

  /// Runs body(rank) in a thread for each rank, whose current device is the rank's.
  std::string run(const std::string& what, const std::function<std::string(int)>& body) const {
    return run_threads(what, size(), [&](int rank) {
      devices::check(cudaSetDevice(UserComms::device(rank)));
      return body(rank);
    });
  }

 private:
  const UserComms user_comms_;
  std::vector<sparsecollComm_t> comms_;
};

/// The arguments of a call of a dense verb.
struct Call {
  test::Verb verb = test::Verb::kGtopk;
  size_t count = 64;
  size_t k = 8;
  sparsecollDataType_t datatype = sparsecollFloat32;
  sparsecollRedOp_t op = sparsecollSum;
};

/// The input, output and residual of one rank. The input is all ones, so a sum is the number of
/// ranks.
class Tensors {
 public:
  static constexpr size_t kRoom = 128;
  static constexpr float kUntouched = 7;  ///< the output's values before a call

  explicit Tensors(sparsecollComm_t comm)
      : in(std::vector<float>(kRoom, 1)),
        out(std::vector<float>(kRoom, kUntouched)),
        residual(comm, Call{}.count),
        comm_(comm) {}

  sparsecollResult_t make(const Call& call) const {
    return make(call, in.get(), out.get(), has_residual(call) ? residual.handle() : nullptr);
  }
  sparsecollResult_t make(const Call& call, const void* from, void* to,
                          sparsecollResidual_t feedback) const {
    const auto verb = call.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    return verb(from, to, call.count, call.k, call.datatype, call.op, feedback, comm_, stream);
  }
  /// Returns the result of a call that may not have waited: `queued` if it is an error, otherwise
  /// that of Synchronize.
  sparsecollResult_t finish(sparsecollResult_t queued) const {
    return queued == sparsecollSuccess ? sparsecollCommSynchronize(comm_) : queued;
  }
  bool untouched() const { return out.read(stream) == std::vector<float>(kRoom, kUntouched); }
  void wipe() { out.put(std::vector<float>(kRoom, kUntouched), stream); }

  DeviceArray<float> in, out;
  test::Residual<float> residual;
  OwnStream stream;

 private:
  static bool has_residual(const Call& call) {
    return call.count == Call{}.count && call.datatype == Call{}.datatype;
  }

  sparsecollComm_t comm_;
};

/// Returns the result's name and meaning. That of a Timeout has the word "deadline", for which
/// with_longer_deadlines() looks.
inline const char* name_of(sparsecollResult_t result) { return sparsecollGetErrorString(result); }

/// Returns "" if `got` is `want` and `part` is in its message, otherwise a description.
inline std::string result_mismatch(sparsecollResult_t got, sparsecollResult_t want,
                                   sparsecollComm_t comm, const std::string& part = "") {
  const std::string message = got == sparsecollSuccess ? "" : sparsecollGetLastError(comm);
  if (got == want && message.find(part) != std::string::npos) return "";
  return text("expected ", want, " with '", part, "', got ", name_of(got), " ", message, "; ");
}

/// Returns "" if a destroy has succeeded, otherwise its result. There is no message to show,
/// because a failed destroy ends the handle, too.
inline std::string destroy_mismatch(sparsecollResult_t got) {
  return got == sparsecollSuccess ? "" : text("destroy: ", name_of(got), "; ");
}

inline std::uint64_t sequence_of(sparsecollComm_t comm) {
  std::uint64_t sequence = 0;
  sparsecollCommGetSequence(comm, &sequence);
  return sequence;
}

inline sparsecollResult_t async_error_of(sparsecollComm_t comm) {
  sparsecollResult_t error = sparsecollSuccess;
  sparsecollCommGetAsyncError(comm, &error);
  return error;
}

}  // namespace sparsecoll::nccl_tests
