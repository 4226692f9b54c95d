// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace sparsecoll::nccl {

namespace {

constexpr const char* kName = "libnccl.so.2";

/// The copy of NCCL that this process has loaded. Communicators are private structures of the copy
/// that made them, and only that copy may be called with them. So no copy is ever loaded here.
class ProcessNccl {
 public:
  ProcessNccl() {
    // If the program links NCCL or it was preloaded, its symbols are visible to all modules.
    if (dlsym(RTLD_DEFAULT, "ncclCommSplit")) return;
    // If a module has loaded NCCL, for example one of Python, its symbols are visible to that
    // module only. The handle stays open, because transports keep the function pointers.
    handle_ = dlopen(kName, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle_)
      fail(sparsecollInvalidUsage,
           "nccl: cannot find the NCCL that made the communicator in this process: ", kName,
           " is not loaded, and the program exports no ncclCommSplit (a program that links NCCL "
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
  const ProcessNccl process;
  Library library{};
  process.find(library.get_version, "ncclGetVersion");
  process.find(library.error_string, "ncclGetErrorString");
  process.find(library.last_error, "ncclGetLastError");
  process.find(library.comm_split, "ncclCommSplit");
  process.find(library.comm_count, "ncclCommCount");
  process.find(library.comm_rank, "ncclCommUserRank");
  process.find(library.comm_device, "ncclCommCuDevice");
  process.find(library.async_error, "ncclCommGetAsyncError");
  process.find(library.comm_finalize, "ncclCommFinalize");
  process.find(library.comm_destroy, "ncclCommDestroy");
  process.find(library.comm_abort, "ncclCommAbort");
  process.find(library.group_start, "ncclGroupStart");
  process.find(library.group_end, "ncclGroupEnd");
  process.find(library.send, "ncclSend");
  process.find(library.receive, "ncclRecv");
  process.find(library.reduce_scatter, "ncclReduceScatter");
  process.find(library.comm_shrink, "ncclCommShrink");
  return library;
}

}  // namespace sparsecoll::nccl
