// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace sparsecoll {

/// While it exists, pthread_cancel() does not end the calling thread: a cancelled call would leave
/// locks, messages and memory behind. A cancellation that is requested meanwhile happens later, at
/// the thread's next cancellation point.
class CancellationDisabled {
 public:
  CancellationDisabled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &callers_); }
  ~CancellationDisabled() {
    int disabled;
    pthread_setcancelstate(callers_, &disabled);
  }
  CancellationDisabled(const CancellationDisabled&) = delete;
  CancellationDisabled& operator=(const CancellationDisabled&) = delete;

 private:
  int callers_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace sparsecoll
