// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_ERROR_HPP_
#define SPARSECOLL_CXX_ERROR_HPP_

/// @file
/// @brief Results of the C API as exceptions. Included by sparsecoll.hpp.

#include <sparsecoll/sparsecoll.h>

#include <stdexcept>
#include <string>

namespace sparsecoll {
// The library itself uses the outer namespace. The inline namespace keeps these names apart from
// its own in programs that link the static library.
inline namespace cxx {

/// The exception for every result except sparsecollSuccess. what() is the library's message, or the
/// meaning of the result if the library has no message.
class SPARSECOLL_API Error : public std::runtime_error {
 public:
  /// @param code    the result of the C function.
  /// @param message the text of what().
  Error(sparsecollResult_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}

  /// Returns the result of the C function.
  sparsecollResult_t code() const noexcept { return code_; }
  /// Returns true if this error poisons the communicator: destroy it and make a new one. abort()
  /// also poisons it, but its error is sparsecollInvalidUsage, for which this returns false.
  /// Communicator::asyncError() reports both.
  bool fatal() const noexcept {
    return code_ != sparsecollInvalidArgument && code_ != sparsecollInvalidUsage &&
           code_ != sparsecollTruncated && code_ != sparsecollInProgress;
  }

 private:
  sparsecollResult_t code_;
};

/// The exception for sparsecollTruncated: the operation is done on all ranks, but an output was too
/// small. needed() of that output is the required capacity, and Communicator::fetch() gets the
/// result.
class SPARSECOLL_API Truncated : public Error {
 public:
  /// @param message the text of what().
  explicit Truncated(const std::string& message) : Error(sparsecollTruncated, message) {}
};

/// Functions that the wrappers share; programs must not use them.
namespace detail {

/// Throws `result`, which `function` returned, as an Error. The message is the communicator's last
/// one (with NULL, that of the last failed init) if it names this function.
[[noreturn]] inline void raise(sparsecollResult_t result, const char* function,
                               sparsecollComm_t comm) {
  std::string message = sparsecollGetLastError(comm);
  // A function that got an invalid handle stores no message; the last one is of an earlier call.
  if (message.find(function) == std::string::npos)
    message = std::string(function) + ": " + sparsecollGetErrorString(result);
  if (result == sparsecollTruncated) throw Truncated(message);
  throw Error(result, message);
}

/// Throws unless `result` is success.
inline void check(sparsecollResult_t result, const char* function, sparsecollComm_t comm) {
  if (result != sparsecollSuccess) raise(result, function, comm);
}

}  // namespace detail
}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_ERROR_HPP_
