// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// This file is for a library without CUDA: all memory is the host's.
#include "core/error.hpp"
#include "kernels/device.hpp"

namespace sparsecoll {

int count_devices() { return 0; }
std::string pci_address(int) { return ""; }
int current_device() { return kHost; }
int device_of(const void*) { return kHost; }
bool is_captured(int, Stream) { return false; }
bool is_same_in_all_threads(Stream) { return true; }

std::unique_ptr<Device> make_device(int number, MessageLocation, Timeline*) {
  fail(sparsecollInternalError, "device ", number, " in a library without CUDA");
}

}  // namespace sparsecoll
