// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 that has the names of NCCL's calls, and a version that a test chooses. It stands
// for the one that a program has loaded; nothing in it works.

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
void ncclSend() {}
#ifndef FAKE_NCCL_WITHOUT_RECV
void ncclRecv() {}
#endif
}
