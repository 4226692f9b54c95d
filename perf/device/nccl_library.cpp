// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "device/nccl.hpp"

namespace sparsecoll::perf {
namespace {

constexpr const char* kName = "libnccl.so.2";

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw std::runtime_error(std::string("--transport nccl: ") + kName + " has no " + name);
}

}  // namespace

Nccl open_nccl() {
  void* const library =
      dlopen(kName, RTLD_NOW | RTLD_GLOBAL);  // never closed: communicators use it
  if (!library)
    throw std::runtime_error(std::string("--transport nccl: cannot load NCCL (") + dlerror() +
                             "); LD_LIBRARY_PATH can name its folder");
  Nccl nccl{};
  find(library, nccl.error_string, "ncclGetErrorString");
  find(library, nccl.unique_id, "ncclGetUniqueId");
  find(library, nccl.init_rank, "ncclCommInitRank");
  find(library, nccl.destroy, "ncclCommDestroy");
  return nccl;
}

}  // namespace sparsecoll::perf
