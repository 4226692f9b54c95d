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
// The library itself uses the outer namespace: names of programs that link the static one must not
// meet its own.
inline namespace cxx {

/// Every result but sparsecollSuccess. what() is the library's message, or the result's meaning
/// where the library has none.
class SPARSECOLL_API Error : public std::runtime_error {
 public:
  /// @param code what the C function returned.
  /// @param message for what().
  Error(sparsecollResult_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}

  /// What the C function returned.
  sparsecollResult_t code() const noexcept { return code_; }
  /// True when this error poisons the communicator: destroy it and make a new one. So does abort(),
  /// whose error is sparsecollInvalidUsage; Communicator::asyncError() knows of both.
  bool fatal() const noexcept {
    return code_ != sparsecollInvalidArgument && code_ != sparsecollInvalidUsage &&
           code_ != sparsecollTruncated && code_ != sparsecollInProgress;
  }

 private:
  sparsecollResult_t code_;
};

/// sparsecollTruncated: the operation is done on all ranks, but an output was too small. needed()
/// of that output says how much it wants, and Communicator::fetch() gets it.
class SPARSECOLL_API Truncated : public Error {
 public:
  /// @param message for what().
  explicit Truncated(const std::string& message) : Error(sparsecollTruncated, message) {}
};

/// What the wrappers share; not for programs.
namespace detail {

/// Throws what `function` returned, with the communicator's message (NULL: that of the last init)
/// if that is about this function.
[[noreturn]] inline void raise(sparsecollResult_t result, const char* function,
                               sparsecollComm_t comm) {
  std::string message = sparsecollGetLastError(comm);
  // A function that was given no handle leaves no message; what is there is older.
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
