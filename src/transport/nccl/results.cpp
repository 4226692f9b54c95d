// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/results.hpp"

#include <string>

#include "core/error.hpp"

namespace sparsecoll::nccl {

namespace {

/// The value of ncclTimeout, which older headers lack.
constexpr int kTimeout = 8;

std::string version_text(int code) {
  const int thousand = code < 10000 ? 1000 : 10000;  // before version 2.9 the factor was 1000
  return text(code / thousand, ".", code % thousand / 100, ".", code % 100);
}

bool is_good(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

/// Returns the code for an error that is not a mistake of the user.
sparsecollResult_t fatal_code(ncclResult_t result) {
  if (result == ncclUnhandledCudaError) return sparsecollUnhandledCudaError;
  if (result == ncclRemoteError) return sparsecollRemoteError;
  if (static_cast<int>(result) == kTimeout) return sparsecollTimeout;
  return sparsecollSystemError;
}

[[noreturn]] void fail_call(const Library& library, ncclResult_t result, const char* call,
                            sparsecollResult_t code) {
  const char* const last = library.last_error(nullptr);
  const std::string detail = last && *last ? text("; last error of NCCL: ", last) : "";
  fail(code, call, ": ", library.error_string(result), detail);
}

}  // namespace

void require_version(const Library& library) {
  int version = 0;
  require_user_call(library, library.get_version(&version), "ncclGetVersion");
  if (version < kOldestVersion)
    fail(sparsecollInvalidUsage, "nccl: the NCCL of this process is version ",
         version_text(version), ", expected ", version_text(kOldestVersion), " or later");
}

void require_own_call(const Library& library, ncclResult_t result, const char* call) {
  if (!is_good(result)) fail_call(library, result, call, fatal_code(result));
}

void require_user_call(const Library& library, ncclResult_t result, const char* call) {
  if (is_good(result)) return;
  sparsecollResult_t code = fatal_code(result);
  if (result == ncclInvalidArgument) code = sparsecollInvalidArgument;
  if (result == ncclInvalidUsage) code = sparsecollInvalidUsage;
  fail_call(library, result, call, code);
}

}  // namespace sparsecoll::nccl
