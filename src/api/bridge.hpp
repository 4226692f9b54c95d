// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/communicator.hpp"
#include "api/handles.hpp"
#include "api/residual.hpp"
#include "core/cancellation.hpp"
#include "core/error.hpp"
#include "core/float_environment.hpp"

namespace sparsecoll {

/// Leaves a communicator at the end of its scope.
class EnteredCommunicator {
 public:
  explicit EnteredCommunicator(Communicator& communicator) : communicator_(communicator) {}
  ~EnteredCommunicator() { communicator_.leave(); }
  EnteredCommunicator(const EnteredCommunicator&) = delete;
  EnteredCommunicator& operator=(const EnteredCommunicator&) = delete;

 private:
  Communicator& communicator_;
};

/// Returns an error if the calling thread is in a callback of this communicator, where a function
/// would wait for itself; nothing outside of callbacks.
inline std::optional<Error> callback_here(Communicator& communicator) {
  const auto refuse = [](const char* callback) {
    return Error(sparsecollInvalidUsage,
                 text("called from a callback of ", callback, " on this communicator"));
  };
  if (communicator.completions().calls_here()) return refuse("sparsecollCommNotify");
  if (communicator.queue() && communicator.queue()->runs_here()) return refuse("a queued call");
  return std::nullopt;
}

/// Runs `body(Communicator&)` for a C function and returns its result, or the code of the exception
/// that it throws. Finds the communicator, admits one thread at a time, disables thread
/// cancellation, and keeps the error message. Refuses a forked child, and a callback of a queued
/// call, which would wait for itself. All functions on a communicator use it, except queries and
/// CommAbort.
template <class Body>
sparsecollResult_t on_entered(const char* operation, Communicator* communicator,
                              Body&& body) noexcept {
  if (!communicator) return sparsecollInvalidArgument;
  if (communicator->is_inherited()) return sparsecollInvalidUsage;
  const CancellationDisabled uncancelled;
  try {
    if (const auto callback = callback_here(*communicator))
      return communicator->record_error(operation, *callback);
    if (!communicator->enter(operation))
      return communicator->record_error(operation, communicator->refusal(operation));
    const EnteredCommunicator inside(*communicator);
    const FloatEnvironment environment;
    try {
      sparsecollResult_t result = sparsecollSuccess;
      communicator->contain([&] { result = body(*communicator); });
      return result;
    } catch (const Error& error) {
      return communicator->record_error(operation, error);
    } catch (const std::bad_alloc&) {
      return communicator->record_error(operation, Error(sparsecollSystemError, "out of memory"));
    }
  } catch (const std::exception&) {
    return sparsecollSystemError;  // there is no memory even for the message
  }
}

template <class Body>
sparsecollResult_t on_entered(const char* operation, sparsecollComm_t handle,
                              Body&& body) noexcept {
  const std::shared_ptr<Communicator> communicator = communicators().find(handle);
  return on_entered(operation, communicator.get(), body);
}

/// Runs `body(Communicator&)` beside the thread that is inside the communicator, if there is one.
/// For functions that any thread may call, unless it makes a call on the communicator now.
template <class Body>
sparsecollResult_t beside_calls(const char* operation, sparsecollComm_t handle,
                                Body&& body) noexcept {
  const std::shared_ptr<Communicator> communicator = communicators().find(handle);
  if (!communicator) return sparsecollInvalidArgument;
  if (communicator->is_inherited()) return sparsecollInvalidUsage;
  const CancellationDisabled uncancelled;
  try {
    try {
      if (const auto callback = callback_here(*communicator)) throw Error(*callback);
      if (communicator->is_inside()) throw communicator->refusal(operation);
      body(*communicator);
      return sparsecollSuccess;
    } catch (const Error& error) {
      return communicator->record_error(operation, error);
    } catch (const std::bad_alloc&) {
      return communicator->record_error(operation, Error(sparsecollSystemError, "out of memory"));
    }
  } catch (const std::exception&) {
    return sparsecollSystemError;  // there is no memory even for the message
  }
}

/// Waits for the queued calls, and then runs `body` as on_communicator() does. For functions that
/// must not run at the same time as queued calls.
template <class Body>
sparsecollResult_t on_communicator(const char* operation, Communicator* communicator,
                                   Body&& body) noexcept {
  return on_entered(operation, communicator, [&](Communicator& c) {
    if (c.queue()) c.queue()->wait_idle();
    return body(c);
  });
}

template <class Body>
sparsecollResult_t on_communicator(const char* operation, sparsecollComm_t handle,
                                   Body&& body) noexcept {
  const std::shared_ptr<Communicator> communicator = communicators().find(handle);
  return on_communicator(operation, communicator.get(), body);
}

/// Runs a function on a residual as on_communicator() does, inside the residual's communicator.
template <class Body>
sparsecollResult_t on_residual(const char* operation, sparsecollResidual_t handle,
                               Body&& body) noexcept {
  std::shared_ptr<Communicator> owner;  // must outlive the residual, because it counts the
                                        // residual's memory
  const std::shared_ptr<Residual> residual = residuals().find(handle);
  if (residual) owner = residual->owner();
  return on_communicator(operation, owner.get(), [&](Communicator&) { return body(*residual); });
}

/// The message of the last failed init of this thread.
std::string& init_error();

/// Runs a function that makes communicators. Keeps the message of a failure in init_error().
template <class Body>
sparsecollResult_t on_init(const char* operation, Body&& body) noexcept {
  const CancellationDisabled uncancelled;
  try {
    const auto failed = [&](sparsecollResult_t code, const char* why) {
      init_error() = text(operation, ": ", why);
      return code;
    };
    try {
      body();
      return sparsecollSuccess;
    } catch (const Error& error) {
      return failed(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      return failed(sparsecollSystemError, "out of memory");
    } catch (const std::exception& error) {
      return failed(sparsecollInternalError, error.what());
    } catch (...) {
      return failed(sparsecollInternalError, "an exception that is no std::exception");
    }
  } catch (const std::exception&) {
    return sparsecollSystemError;
  }
}

}  // namespace sparsecoll
