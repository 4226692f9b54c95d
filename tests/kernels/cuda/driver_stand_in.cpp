// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A library with the name of CUDA's driver: one device, whose primary context exists.

extern "C" {

__attribute__((visibility("default"))) int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

__attribute__((visibility("default"))) int cuDevicePrimaryCtxGetState(int, unsigned* flags,
                                                                      int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}
}
