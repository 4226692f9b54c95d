// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Queries of a communicator and of the library.
#include <algorithm>
#include <cstring>

#include "api/bridge.hpp"
#include "core/cancellation.hpp"

using namespace sparsecoll;

namespace {

/// Queries do not enter the communicator: they read only constant data and data under a lock.
template <class T, class Get>
sparsecollResult_t ask(sparsecollComm_t comm, T* out, Get get) {
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator || !out) return sparsecollInvalidArgument;
  if (communicator->is_inherited() || communicator->completions().calls_here())
    return sparsecollInvalidUsage;
  const CancellationDisabled uncancelled;
  *out = get(*communicator);
  return sparsecollSuccess;
}

}  // namespace

sparsecollResult_t sparsecollCommRank(sparsecollComm_t comm, int* rank) {
  return ask(comm, rank, [](const Communicator& c) { return c.rank(); });
}

sparsecollResult_t sparsecollCommCount(sparsecollComm_t comm, int* count) {
  return ask(comm, count, [](const Communicator& c) { return c.size(); });
}

sparsecollResult_t sparsecollCommGetSequence(sparsecollComm_t comm, uint64_t* sequence) {
  return ask(comm, sequence, [](const Communicator& c) { return c.sequence(); });
}

sparsecollResult_t sparsecollCommGetAsyncError(sparsecollComm_t comm,
                                               sparsecollResult_t* asyncError) {
  return ask(comm, asyncError, [](const Communicator& c) {
    const sparsecollResult_t poison = c.health().code();
    const bool busy = c.queue() && !c.queue()->idle();
    return poison == sparsecollSuccess && busy ? sparsecollInProgress : poison;
  });
}

sparsecollResult_t sparsecollCommGetStats(sparsecollComm_t comm, int which,
                                          sparsecollStats_t* stats) {
  constexpr sparsecollStats_t kInitial = SPARSECOLL_STATS_INITIALIZER;
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator || !stats || (which != sparsecollStatsLast && which != sparsecollStatsTotal) ||
      stats->size < offsetof(sparsecollStats_t, algorithm) || stats->magic != kInitial.magic ||
      stats->version == 0)
    return sparsecollInvalidArgument;
  if (communicator->is_inherited() || communicator->completions().calls_here())
    return sparsecollInvalidUsage;
  const Statistics& statistics = communicator->statistics();
  const Stats kept = which == sparsecollStatsTotal ? statistics.total() : statistics.last();
  sparsecollStats_t out = kInitial;
  out.size = stats->size;
  out.version = stats->version;
  out.algorithm = kept.algorithm;
  out.bytesSent = kept.bytes_sent;
  out.bytesReceived = kept.bytes_received;
  out.messagesSent = kept.messages_sent;
  out.selected = kept.selected;
  out.result = kept.result;
  out.selectSeconds = kept.in(Phase::select);
  out.packSeconds = kept.in(Phase::pack);
  out.exchangeSeconds = kept.in(Phase::exchange);
  out.reduceSeconds = kept.in(Phase::reduce);
  out.abandonedBytes = statistics.abandoned_bytes();
  out.skipped = kept.skipped;
  std::memcpy(stats, &out, std::min(stats->size, sizeof out));
  return sparsecollSuccess;
}

sparsecollResult_t sparsecollCommSynchronize(sparsecollComm_t comm) {
  return on_entered("sparsecollCommSynchronize", comm, [](Communicator& c) {
    c.group().check_closed();
    if (c.queue()) {
      c.queue()->wait_idle();
      c.throw_queued_failure(c.sequence());
    }
    c.check_healthy();
    c.wait_for_device(std::nullopt);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollCommWait(sparsecollComm_t comm, uint64_t sequence) {
  return beside_calls("sparsecollCommWait", comm, [&](Communicator& c) {
    c.wait_for_call(sequence);
    c.throw_failure_of(sequence);
    c.check_healthy();
    c.wait_for_device_outside();
    c.check_healthy();  // calls in stream order may have failed on the device
  });
}

sparsecollResult_t sparsecollCommNotify(sparsecollComm_t comm, uint64_t sequence,
                                        sparsecollNotify_t done, void* user) {
  return beside_calls("sparsecollCommNotify", comm, [&](Communicator& c) {
    if (!done) fail(sparsecollInvalidArgument, "done: expected a function, got NULL");
    if (sequence > c.sequence())
      fail(sparsecollInvalidArgument, "sequence: expected at most that of the last call, ",
           c.sequence(), ", got ", sequence);
    c.notify({sequence, done, user});
  });
}

sparsecollResult_t sparsecollCommStreamWait(sparsecollComm_t comm, sparsecollStream_t stream) {
  return on_communicator("sparsecollCommStreamWait", comm, [&](Communicator& c) {
    c.group().check_closed();
    c.check_healthy();
    c.wait_for_device(stream);
    return sparsecollSuccess;
  });
}

const char* sparsecollGetLastError(sparsecollComm_t comm) {
  if (!comm) return init_error().c_str();
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  if (!communicator) return "not a communicator, or destroyed already";
  if (communicator->is_inherited())
    return "the communicator is that of the process that forked this one";
  try {
    return communicator->health().last_error();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  }
}

const char* sparsecollGetErrorString(sparsecollResult_t result) {
  switch (result) {
    case sparsecollSuccess:
      return "sparsecollSuccess: no error";
    case sparsecollUnhandledCudaError:
      return "sparsecollUnhandledCudaError: a CUDA call failed";
    case sparsecollSystemError:
      return "sparsecollSystemError: memory, a file or the layer below failed";
    case sparsecollInternalError:
      return "sparsecollInternalError: a bug in sparsecoll";
    case sparsecollInvalidArgument:
      return "sparsecollInvalidArgument: a bad argument; nothing happened";
    case sparsecollInvalidUsage:
      return "sparsecollInvalidUsage: ranks disagree, or a call that this state forbids";
    case sparsecollRemoteError:
      return "sparsecollRemoteError: a peer failed or sent a damaged message";
    case sparsecollInProgress:
      return "sparsecollInProgress: queued work is not done yet";
    case sparsecollTimeout:
      return "sparsecollTimeout: a deadline passed";
    case sparsecollTruncated:
      return "sparsecollTruncated: an output was too small; fetch it with sparsecollFetch";
    case sparsecollResultMaxEnum:
      break;
  }
  return "unknown result code";
}

sparsecollResult_t sparsecollGetVersion(int* version) {
  if (!version) return sparsecollInvalidArgument;
  *version = SPARSECOLL_VERSION;
  return sparsecollSuccess;
}
