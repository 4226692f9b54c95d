// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 with the names of NCCL's functions and a version that a test sets. It replaces the
// NCCL that a program has loaded. Its functions do nothing.

extern "C" {

int fake_nccl_version = 0;

int ncclGetVersion(int* version) {
  *version = fake_nccl_version;
  return 0;
}
const char* ncclGetErrorString(int) { return "a result of the fake"; }
const char* ncclGetLastError(void*) { return ""; }

void ncclCommSplit() {}
void ncclCommCount() {}
void ncclCommUserRank() {}
void ncclCommCuDevice() {}
void ncclCommGetAsyncError() {}
void ncclCommFinalize() {}
void ncclCommDestroy() {}
void ncclCommAbort() {}
void ncclGroupStart() {}
void ncclGroupEnd() {}
void ncclReduceScatter() {}
void ncclCommShrink() {}
void ncclSend() {}
#ifndef FAKE_NCCL_WITHOUT_RECV
void ncclRecv() {}
#endif
}
