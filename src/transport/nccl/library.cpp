// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace sparsecoll::nccl {

namespace {

constexpr const char* kName = "libnccl.so.2";

/// Where the process has NCCL. Communicators are NCCL's own structures, so that only the copy that
/// made one may be called with it; therefore none is ever loaded here.
class Loaded {
 public:
  Loaded() {
    // Linked by the program, or in front of it by LD_PRELOAD: seen by everybody.
    if (dlsym(RTLD_DEFAULT, "ncclCommSplit")) return;
    // Loaded by a module of Python, say: seen by that one alone. It stays open, because
    // communicators keep the calls.
    handle_ = dlopen(kName, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle_)
      fail(sparsecollInvalidUsage,
           "nccl: made by an NCCL that cannot be found in this process: ", kName,
           " is not loaded, and the program shows no ncclCommSplit (one that NCCL is linked into "
           "statically must export its symbols: -rdynamic)");
  }

  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (!function)
      fail(sparsecollInvalidUsage, "nccl: the NCCL of this process has no ", name,
           "; expected version 2.28 or later");
  }

 private:
  void* handle_ = RTLD_DEFAULT;
};

}  // namespace

Library open_nccl_library() {
  const Loaded loaded;
  Library library{};
  loaded.find(library.get_version, "ncclGetVersion");
  loaded.find(library.error_string, "ncclGetErrorString");
  loaded.find(library.last_error, "ncclGetLastError");
  loaded.find(library.comm_split, "ncclCommSplit");
  loaded.find(library.comm_count, "ncclCommCount");
  loaded.find(library.comm_rank, "ncclCommUserRank");
  loaded.find(library.comm_device, "ncclCommCuDevice");
  loaded.find(library.async_error, "ncclCommGetAsyncError");
  loaded.find(library.comm_finalize, "ncclCommFinalize");
  loaded.find(library.comm_destroy, "ncclCommDestroy");
  loaded.find(library.comm_abort, "ncclCommAbort");
  loaded.find(library.group_start, "ncclGroupStart");
  loaded.find(library.group_end, "ncclGroupEnd");
  loaded.find(library.send, "ncclSend");
  loaded.find(library.receive, "ncclRecv");
  return library;
}

}  // namespace sparsecoll::nccl
