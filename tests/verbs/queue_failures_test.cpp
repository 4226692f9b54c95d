// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// blocking = 0: more calls fail than a communicator keeps errors of. No failure becomes a success.

#include <functional>

#include "support/catch.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::uint64_t kKept = 1024;  // docs/errors.md

/// Queues that many calls on a communicator of one rank, and lets them end. Those for which `fails`
/// is true have no sendbuff.
class QueuedCalls {
 public:
  QueuedCalls(std::uint64_t calls, const std::function<bool(std::uint64_t)>& fails)
      : ranks_(1, config()) {
    for (std::uint64_t call = 1; call <= calls; ++call)
      sparseAllreduce(fails(call) ? nullptr : x_.data(), y_.data(), x_.size(), 1, sparsecollFloat32,
                      sparsecollSum, nullptr, comm(), nullptr);
    sparsecollResult_t state = sparsecollInProgress;  // nothing is waited for, and so nothing told
    while (state == sparsecollInProgress) sparsecollCommGetAsyncError(comm(), &state);
  }
  sparsecollComm_t comm() const { return ranks_.comm(0); }

 private:
  static sparsecollConfig_t config() {
    sparsecollConfig_t queued = default_config();
    queued.blocking = 0;
    return queued;
  }
  Ranks ranks_;
  std::vector<float> x_ = std::vector<float>(4, 1.0f), y_ = std::vector<float>(4);
};

TEST_CASE("the failure of each of many queued calls is told by the wait for it") {
  const QueuedCalls queued(3 * kKept, [](std::uint64_t) { return true; });
  std::uint64_t told = 0;
  for (std::uint64_t call = 1; call <= 3 * kKept; ++call)
    told += sparsecollCommWait(queued.comm(), call) == sparsecollInvalidArgument ? 1 : 0;
  CHECK(told == 3 * kKept);
  CHECK(sparsecollCommSynchronize(queued.comm()) == sparsecollSuccess);
}

TEST_CASE("Synchronize tells every failure; one error may stand for many calls in a row") {
  const QueuedCalls queued(3 * kKept, [](std::uint64_t) { return true; });
  std::uint64_t errors = 0;
  std::string messages;
  while (sparsecollCommSynchronize(queued.comm()) != sparsecollSuccess) {
    ++errors;
    messages += sparsecollGetLastError(queued.comm());
  }
  CHECK(errors == kKept);
  const auto told = [&](const char* text) { return messages.find(text) != std::string::npos; };
  CHECK(told("sparseAllreduce, call 1022: sendbuff"));
  CHECK(told("sparseAllreduce, calls 1023 to 3071: sendbuff"));
  CHECK(told("sparseAllreduce, call 3072: sendbuff"));
}

TEST_CASE("calls that succeed between failures stay successful up to the bound") {
  const QueuedCalls queued(2 * kKept, [](std::uint64_t call) { return call % 2 == 0; });
  std::uint64_t right = 0;
  for (std::uint64_t call = 1; call <= 2 * kKept; ++call)
    right += sparsecollCommWait(queued.comm(), call) ==
                     (call % 2 == 0 ? sparsecollInvalidArgument : sparsecollSuccess)
                 ? 1
                 : 0;
  CHECK(right == 2 * kKept);
}

TEST_CASE("runs of failures join when there are more than the bound: failure wins") {
  const QueuedCalls queued(4 * kKept, [](std::uint64_t call) { return call % 2 == 0; });
  std::uint64_t told = 0;
  for (std::uint64_t call = 2; call <= 4 * kKept; call += 2)
    told += sparsecollCommWait(queued.comm(), call) == sparsecollInvalidArgument ? 1 : 0;
  CHECK(told == 2 * kKept);
}

TEST_CASE("many failures in a row leave room for the errors of others") {
  const auto fails = [](std::uint64_t call) { return call <= 2 * kKept || call % 100 == 0; };
  const QueuedCalls queued(4 * kKept, fails);
  for (std::uint64_t call = 1; call <= 2 * kKept; ++call)
    CHECK(sparsecollCommWait(queued.comm(), call) == sparsecollInvalidArgument);
  std::uint64_t right = 0;
  for (std::uint64_t call = 2 * kKept + 1; call <= 4 * kKept; ++call)
    right += sparsecollCommWait(queued.comm(), call) ==
                     (fails(call) ? sparsecollInvalidArgument : sparsecollSuccess)
                 ? 1
                 : 0;
  CHECK(right == 2 * kKept);
}

}  // namespace
}  // namespace sparsecoll::test
