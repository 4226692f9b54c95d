// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank that makes calls with a residual, always with the same gradients, and continues after
// another rank has died. Then the residuals of all ranks must be those after the same call, and
// later results must agree with the definition bit for bit.

#include <cstdio>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {

struct Survivor {
  static constexpr std::size_t kLength = std::size_t{1} << 15;
  static constexpr std::size_t kKept = kLength / 50;
  static constexpr int kMoreCalls = 5;
  using Inputs = oracle::DenseInputs<float>;

  Mode mode;
  int ranks;
  int rank;
  int victim;

  /// Makes a call. The residual is of zeros at first.
  sparsecollResult_t call(sparsecollComm_t comm, const Residual<float>& residual) const {
    std::vector<float> recv(kLength);
    return call(comm, residual, gradient(rank), recv);
  }

  /// Makes calls on the communicator of the ranks that remain, to which the residual has moved.
  /// Destroys it. Returns "" or what is wrong.
  std::string go_on(sparsecollComm_t comm, const Residual<float>& residual) const {
    std::uint64_t committed = 0;
    sparsecollCommGetSequence(comm, &committed);
    Inputs in = inputs_after(committed);
    const auto own = static_cast<std::size_t>(rank);
    std::string wrong = difference("residual", residual.read(), in.residuals[own]);
    if (!wrong.empty()) return "after the shrink: " + wrong;
    in.sends.erase(in.sends.begin() + victim);
    in.residuals.erase(in.residuals.begin() + victim);
    const std::size_t place = own - (rank > victim ? 1 : 0);
    std::vector<float> recv(kLength);
    for (int more = 0; more < kMoreCalls; ++more) {
      const sparsecollResult_t result = call(comm, residual, in.sends[place], recv);
      if (result != sparsecollSuccess) return "a later call: " + explain(result, comm);
      const auto good = expected<float>(mode, in, kKept, oracle::Op::kSum);
      in.residuals = good.residuals;
      wrong = difference("residual", residual.read(), in.residuals[place]);
      if (wrong.empty()) wrong = difference("result", recv, good.result);
      if (!wrong.empty()) return "a later call: " + wrong;
    }
    std::printf("committed %d, then %d more\n", static_cast<int>(committed), kMoreCalls);
    const sparsecollResult_t end = sparsecollCommDestroy(comm);
    return end == sparsecollSuccess ? "" : "destroy: " + explain(end, nullptr);
  }

 private:
  static std::vector<float> gradient(int of) {
    return make_data<float>(Kind::kHeavyTail, kLength, of, 8, 1);
  }
  sparsecollResult_t call(sparsecollComm_t comm, const Residual<float>& residual,
                          const std::vector<float>& send, std::vector<float>& recv) const {
    return call_dense_verb<float>(
        mode.verb, {send.data(), recv.data(), kLength, kKept, sparsecollSum, residual.handle()},
        comm);
  }
  /// Returns the gradients of all ranks, and their residuals after this number of calls.
  Inputs inputs_after(std::uint64_t calls) const {
    Inputs in;
    for (int each = 0; each < ranks; ++each) in.sends.push_back(gradient(each));
    in.residuals.assign(static_cast<std::size_t>(ranks), std::vector<float>(kLength, 0.0f));
    for (std::uint64_t made = 0; made < calls; ++made)
      in.residuals = expected<float>(mode, in, kKept, oracle::Op::kSum).residuals;
    return in;
  }
};

}  // namespace sparsecoll::test
