// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/library.hpp"

#include <dlfcn.h>

#include "core/error.hpp"
#include "transport/ucx/transport.hpp"

namespace sparsecoll::ucx {

namespace {

constexpr const char* kName = "libucp.so.0";

template <class Function>
void find(void* handle, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (!function)
    fail(sparsecollSystemError, kName, " has no ", name, "; expected UCX 1.13 or later");
}

Library load() {
  // The handle is never closed: UCX has threads and patches functions of the C library.
  void* const handle = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fail(sparsecollSystemError, "cannot load UCX: ", dlerror());
  Library library{};
  find(handle, library.version, "ucp_get_version");
  find(handle, library.version_string, "ucp_get_version_string");
  find(handle, library.init_version, "ucp_init_version");
  find(handle, library.cleanup, "ucp_cleanup");
  find(handle, library.config_read, "ucp_config_read");
  find(handle, library.config_modify, "ucp_config_modify");
  find(handle, library.config_release, "ucp_config_release");
  find(handle, library.worker_create, "ucp_worker_create");
  find(handle, library.worker_destroy, "ucp_worker_destroy");
  find(handle, library.worker_address, "ucp_worker_get_address");
  find(handle, library.release_address, "ucp_worker_release_address");
  find(handle, library.worker_fd, "ucp_worker_get_efd");
  find(handle, library.worker_arm, "ucp_worker_arm");
  find(handle, library.worker_flush, "ucp_worker_flush_nbx");
  find(handle, library.worker_progress, "ucp_worker_progress");
  find(handle, library.set_receiver, "ucp_worker_set_am_recv_handler");
  find(handle, library.endpoint_create, "ucp_ep_create");
  find(handle, library.endpoint_close, "ucp_ep_close_nbx");
  find(handle, library.endpoint_flush, "ucp_ep_flush_nbx");
  find(handle, library.send, "ucp_am_send_nbx");
  find(handle, library.request_status, "ucp_request_check_status");
  find(handle, library.request_free, "ucp_request_free");
  find(handle, library.status_string, "ucs_status_string");
  return library;
}

}  // namespace

const Library& open_library() {
  static const Library library = load();
  return library;
}

}  // namespace sparsecoll::ucx

std::string sparsecoll::ucx_version() { return ucx::open_library().version_string(); }
