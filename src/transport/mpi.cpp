// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "core/error.hpp"

namespace sparsecoll {

namespace {

/// Tags on the transport's own communicator.
constexpr int kWhole = 1;     // a whole message
constexpr int kAnnounce = 2;  // the size of a message whose chunks follow
constexpr int kChunkTag = 3;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, reason, &length);
  fail(sparsecollSystemError, what, " failed: ", reason);
}

void check_running() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  if (initialised) MPI_Finalized(&finalised);
  if (!initialised) fail(sparsecollInvalidUsage, "MPI is not initialised: call MPI_Init first");
  if (finalised) fail(sparsecollInvalidUsage, "MPI was finalised already");
}

/// MPI is running and its thread level allows this thread to call it.
void check_caller() {
  check_running();
  int level = MPI_THREAD_SINGLE, main = 0;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  check(MPI_Is_thread_main(&main), "MPI_Is_thread_main");
  if (level < MPI_THREAD_SERIALIZED && !main)
    fail(sparsecollInvalidUsage,
         "called from a thread other than the one that initialised MPI, at thread level ",
         level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
}

/// A message that is coming in.
struct Incoming {
  int peer;
  Buffer bytes;
  size_t claimed = 0;  ///< bytes whose chunks have been matched
  std::vector<MPI_Request> pending;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm comm, size_t chunk) : comm_(comm), chunk_(chunk) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void check_thread() const override { check_caller(); }
  void check_queue() const override {
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE)
      fail(sparsecollInvalidUsage,
           "config.blocking = 0: expected MPI_THREAD_MULTIPLE, got a lower thread level");
  }

  void send(int peer, ConstBytes bytes) override { start(peer, bytes, nullptr); }

  void hand_over(int peer, Buffer message) override {
    const auto kept = std::make_shared<Buffer>(std::move(message));
    start(peer, {kept->data(), kept->size()}, kept);
  }

  size_t unsent() override {
    progress_sends();
    return unsent_;
  }

  size_t unsent_handed_over() override {
    progress_sends();
    return unsent_handed_over_;
  }

  std::optional<Arrived> poll() override {
    progress_sends();
    while (match_one()) continue;
    for (auto each = incoming_.begin(); each != incoming_.end(); ++each) {
      if (!complete(*each) || earlier_from(each)) continue;
      Arrived arrived{each->peer, std::move(each->bytes)};
      incoming_.erase(each);
      return arrived;
    }
    return std::nullopt;
  }

  bool gone(int) const override { return false; }

  /// MPI moves messages only inside its calls, so this gives way to other processes, no more.
  void idle(Clock::time_point) override { sched_yield(); }
  void interrupt() noexcept override {}

  std::unique_ptr<Transport> split(const std::vector<int>& members, uint64_t) override {
    const auto own = std::find(members.begin(), members.end(), rank_);
    const int color = members.empty() ? MPI_UNDEFINED : members.front();
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, color, static_cast<int>(own - members.begin()), &part),
          "MPI_Comm_split");
    return members.empty() ? nullptr : std::make_unique<MpiTransport>(part, chunk_);
  }

  bool closes_together() const override { return true; }
  void close() override { check(MPI_Comm_free(&comm_), "MPI_Comm_free"); }

  size_t abandon(bool* touches_caller) noexcept override {
    // Requests that are under way cannot be taken back, nor can the communicator be freed: MPI may
    // touch their memory for ever.
    size_t bytes = 0;
    for (Incoming& each : incoming_)
      if (!each.pending.empty()) bytes += each.bytes.leak();
    incoming_.clear();
    *touches_caller = unsent_ > 0;
    for (const Sending& each : sends_)
      if (each.kept) bytes += each.kept->leak();
    if (!sends_.empty()) {
      bytes += announced_->size() * sizeof(size_t);
      static_cast<void>(announced_.release());
    }
    return bytes;
  }
  Pool& pool() override { return pool_; }
  const Memory& memory() const override { return memory_; }

 private:
  using Kept = std::shared_ptr<Buffer>;  ///< of a message that was handed over, else null
  struct Sending {
    MPI_Request request;
    size_t bytes;
    Kept kept;
  };

  void start(int peer, ConstBytes bytes, const Kept& kept) {
    if (bytes.size() <= chunk_) return start(peer, kWhole, bytes, kept);
    announced_->push_back(bytes.size());
    start(peer, kAnnounce, std::as_bytes(std::span(&announced_->back(), 1)), kept);
    for (size_t at = 0; at < bytes.size(); at += chunk_)
      start(peer, kChunkTag, bytes.subspan(at, std::min(chunk_, bytes.size() - at)), kept);
  }

  void start(int peer, int tag, ConstBytes bytes, const Kept& kept) {
    MPI_Request request;
    check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, tag, comm_,
                    &request),
          "MPI_Isend");
    sends_.push_back({request, bytes.size(), kept});
    unsent_of(sends_.back()) += bytes.size();
  }

  size_t& unsent_of(const Sending& message) { return message.kept ? unsent_handed_over_ : unsent_; }

  void progress_sends() {
    std::erase_if(sends_, [&](Sending& each) {
      int done = 0;
      check(MPI_Test(&each.request, &done, MPI_STATUS_IGNORE), "a send");
      if (done) unsent_of(each) -= each.bytes;
      return done != 0;
    });
    if (sends_.empty()) announced_->clear();
  }

  /// Matches one message that MPI has for us; false when there is none.
  bool match_one() {
    int found = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &message, &status),
          "MPI_Improbe");
    if (!found) return false;
    int count = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    const auto bytes = static_cast<size_t>(count);
    const int peer = status.MPI_SOURCE;
    if (status.MPI_TAG == kAnnounce) {
      uint64_t total = 0;
      if (bytes != sizeof total) damaged(peer, "an announcement", sizeof total, bytes);
      check(MPI_Mrecv(&total, count, MPI_BYTE, &message, MPI_STATUS_IGNORE), "a receive");
      incoming_.push_back({peer, pool_.take(total), 0, {}});
      return true;
    }
    if (status.MPI_TAG == kWhole) incoming_.push_back({peer, pool_.take(bytes), 0, {}});
    Incoming& target = latest_from(peer);
    if (bytes > target.bytes.size() - target.claimed)
      damaged(peer, "a chunk", target.bytes.size() - target.claimed, bytes);
    MPI_Request request;
    check(MPI_Imrecv(target.bytes.data() + target.claimed, count, MPI_BYTE, &message, &request),
          "MPI_Imrecv");
    target.claimed += bytes;
    target.pending.push_back(request);
    return true;
  }

  [[noreturn]] static void damaged(int peer, const char* what, size_t expected, size_t got) {
    fail(sparsecollRemoteError, "rank ", peer, " sent ", what, " of ", got, " bytes, expected ",
         expected);
  }

  Incoming& latest_from(int peer) {
    for (auto each = incoming_.rbegin(); each != incoming_.rend(); ++each)
      if (each->peer == peer) return *each;
    fail(sparsecollRemoteError, "rank ", peer, " sent a chunk that it had not announced");
  }

  bool earlier_from(std::deque<Incoming>::iterator message) {
    for (auto each = incoming_.begin(); each != message; ++each)
      if (each->peer == message->peer) return true;
    return false;
  }

  static bool complete(Incoming& message) {
    std::erase_if(message.pending, [](MPI_Request& request) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "a receive");
      return done != 0;
    });
    return message.pending.empty() && message.claimed == message.bytes.size();
  }

  MPI_Comm comm_;
  size_t chunk_;
  int rank_ = 0;
  int size_ = 1;
  Memory memory_;
  Pool pool_{memory_};
  std::vector<Sending> sends_;
  /// Sizes on their way; a deque does not move them.
  std::unique_ptr<std::deque<size_t>> announced_ = std::make_unique<std::deque<size_t>>();
  size_t unsent_ = 0;
  size_t unsent_handed_over_ = 0;
  std::deque<Incoming> incoming_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(MPI_Comm mpi, const Deadline& deadline,
                                              size_t chunk) {
  check_caller();
  if (mpi == MPI_COMM_NULL) fail(sparsecollInvalidArgument, "mpi is MPI_COMM_NULL");
  int between_groups = 0;
  check(MPI_Comm_test_inter(mpi, &between_groups), "MPI_Comm_test_inter");
  if (between_groups)
    fail(sparsecollInvalidArgument, "mpi is an intercommunicator; expected an intracommunicator");
  // Duplicating waits for all ranks; the request of one that does not come is left behind.
  auto duplicate = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request;
  check(MPI_Comm_idup(mpi, duplicate.get(), &request), "MPI_Comm_idup");
  for (int done = 0; !done;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Comm_idup");
    if (!done && deadline.passed()) {
      static_cast<void>(duplicate.release());  // MPI may still write to it
      fail(sparsecollTimeout, "not all ranks called it in time");
    }
    if (!done) sched_yield();
  }
  return std::make_unique<MpiTransport>(*duplicate, chunk);
}

}  // namespace sparsecoll
