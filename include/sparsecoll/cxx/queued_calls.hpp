// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_QUEUED_CALLS_HPP_
#define SPARSECOLL_CXX_QUEUED_CALLS_HPP_

/// @file
/// @brief The functions that wait for the calls of a communicator. Included by sparsecoll.hpp.

#include <exception>
#include <future>
#include <memory>
#include <sparsecoll/cxx/error.hpp>
#include <string>
#include <utility>

namespace sparsecoll {
inline namespace cxx {

/// The functions of a Communicator that wait for the end of its calls, or act on it. sparsecoll.h
/// documents each function. Communicator is `Self`, the derived class.
template <class Self>
class QueuedCalls {
 public:
  /// Returns the number of the last collective call that was made or queued; wait() takes it.
  std::uint64_t sequence() const {
    std::uint64_t sequence = 0;
    self().check(sparsecollCommGetSequence(self().get(), &sequence), "sparsecollCommGetSequence");
    return sequence;
  }
  /// Waits for every queued call. Throws the first error of these calls that was not thrown before.
  /// After Truncated, fetch() gets the result.
  void synchronize() {
    self().check(sparsecollCommSynchronize(self().get()), "sparsecollCommSynchronize");
  }
  /// Waits for a queued call and all calls before it. @param sequence what sequence() returned
  /// right after the call.
  void wait(std::uint64_t sequence) {
    self().check(sparsecollCommWait(self().get(), sequence), "sparsecollCommWait");
  }
  /// Calls `done(result)` once, when a call has ended: on the thread of the communicator, or with
  /// `blocking` = 1 before this function returns. See ::sparsecollCommNotify().
  /// @param sequence what sequence() returned right after the call.
  /// @param done     a function of a sparsecollResult_t. It is moved here, and destroyed after its
  ///                 call. It must not use the communicator.
  template <class Done>
  void notify(std::uint64_t sequence, Done&& done) {
    struct Kept {
      std::decay_t<Done> done;
      bool called = false;
    };
    const auto kept = std::make_shared<Kept>(Kept{std::forward<Done>(done)});
    auto owner = std::make_unique<std::shared_ptr<Kept>>(kept);
    const sparsecollNotify_t call = [](void* user, std::uint64_t, sparsecollResult_t result) {
      const std::unique_ptr<std::shared_ptr<Kept>> owned(static_cast<std::shared_ptr<Kept>*>(user));
      (*owned)->called = true;
      (*owned)->done(result);
    };
    const sparsecollResult_t result =
        sparsecollCommNotify(self().get(), sequence, call, static_cast<void*>(owner.get()));
    // The pending call owns it. After an error nothing is pending, except if `done` ran and threw.
    if (result == sparsecollSuccess || kept->called) static_cast<void>(owner.release());
    self().check(result, "sparsecollCommNotify");
  }
  /// Returns a future that is ready when a call has ended, and then throws the error of the call,
  /// if it had one. Any thread may wait for it. std::future has no continuations (`then`), and a
  /// continuation would run where the communicator must not be used. For work after the call use
  /// notify().
  /// @param sequence what sequence() returned right after the call.
  std::future<void> future(std::uint64_t sequence) {
    std::promise<void> promise;
    std::future<void> result = promise.get_future();
    notify(sequence, [promise = std::move(promise)](sparsecollResult_t code) mutable {
      if (code == sparsecollSuccess) return promise.set_value();
      const std::string message = std::string("a call: ") + sparsecollGetErrorString(code);
      promise.set_exception(code == sparsecollTruncated
                                ? std::make_exception_ptr(Truncated(message))
                                : std::make_exception_ptr(Error(code, message)));
    });
    return result;
  }
  /// Makes `stream` wait for the device work of every call so far. With `blocking` = 0, work on a
  /// stream sees results in device memory only after this. Does nothing if no call had device
  /// buffers.
  /// @param stream a cudaStream_t; nullptr: the legacy default stream.
  void streamWait(sparsecollStream_t stream) {
    self().check(sparsecollCommStreamWait(self().get(), stream), "sparsecollCommStreamWait");
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_QUEUED_CALLS_HPP_
