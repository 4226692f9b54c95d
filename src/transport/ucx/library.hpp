// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

namespace sparsecoll::ucx {

/// The functions of UCX. sparsecoll does not link UCX. It loads UCX when the first communicator
/// over UCX is made, so that machines without UCX can use the library.
struct Library {
  decltype(&ucp_get_version) version;
  decltype(&ucp_get_version_string) version_string;
  decltype(&ucp_init_version) init_version;
  decltype(&ucp_cleanup) cleanup;
  decltype(&ucp_config_read) config_read;
  decltype(&ucp_config_modify) config_modify;
  decltype(&ucp_config_release) config_release;
  decltype(&ucp_worker_create) worker_create;
  decltype(&ucp_worker_destroy) worker_destroy;
  decltype(&ucp_worker_get_address) worker_address;
  decltype(&ucp_worker_release_address) release_address;
  decltype(&ucp_worker_get_efd) worker_fd;
  decltype(&ucp_worker_arm) worker_arm;
  decltype(&ucp_worker_flush_nbx) worker_flush;
  decltype(&ucp_worker_progress) worker_progress;
  decltype(&ucp_worker_set_am_recv_handler) set_receiver;
  decltype(&ucp_ep_create) endpoint_create;
  decltype(&ucp_ep_close_nbx) endpoint_close;
  decltype(&ucp_ep_flush_nbx) endpoint_flush;
  decltype(&ucp_am_send_nbx) send;
  decltype(&ucp_request_check_status) request_status;
  decltype(&ucp_request_free) request_free;
  decltype(&ucs_status_string) status_string;
};

/// Loads UCX, once in a process, and returns its functions. Throws SystemError if it is not
/// installed or too old.
const Library& open_library();

}  // namespace sparsecoll::ucx
