// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/transport.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace sparsecoll::nccl {

namespace {

/// The first error among the results of several NCCL calls, and the name of the call.
class FirstFailure {
 public:
  void add(ncclResult_t result, const char* call) {
    if (result_ != ncclSuccess || result == ncclInProgress) return;
    result_ = result;
    call_ = call;
  }
  ncclResult_t result() const { return result_; }
  const char* call() const { return call_; }

 private:
  ncclResult_t result_ = ncclSuccess;
  const char* call_ = "";
};

/// Returns NCCL's type for a type that is its own accumulation type.
ncclDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return ncclFloat32;
    case DataType::float64:
      return ncclFloat64;
    case DataType::int32:
      return ncclInt32;
    case DataType::int64:
      return ncclInt64;
    case DataType::float16:
    case DataType::bfloat16:
      break;
  }
  fail(sparsecollInternalError, "a sum of 16-bit values would round each addition");
}

/// Returns the ranks of the transfers as text, for example "ranks 1, 2, 7".
std::string peers_of(std::span<const StreamTransfer> transfers) {
  constexpr size_t kShown = 8;
  std::vector<int> peers;
  for (const StreamTransfer& transfer : transfers) peers.push_back(transfer.peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::string list = peers.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < std::min(peers.size(), kShown); ++i)
    list += text(i > 0 ? ", " : " ", peers[i]);
  if (peers.size() > kShown) list += text(" and ", peers.size() - kShown, " more");
  return list;
}

}  // namespace

NcclTransport::NcclTransport(std::unique_ptr<Communicator> communicator, const Deadline& deadline)
    : communicator_(std::move(communicator)) {
  const Library& library = communicator_->library();
  {
    const Communicator::CallScope scope(*communicator_, Communicator::Call::query);
    communicator_->require(library.comm_rank(scope.comm(), &rank_), "ncclCommUserRank");
    communicator_->require(library.comm_count(scope.comm(), &size_), "ncclCommCount");
  }
  reserve_ = communicator_->split(0, rank_, deadline);
}

void NcclTransport::exchange(std::span<const StreamTransfer> transfers, Stream stream,
                             const Deadline& deadline) {
  if (transfers.empty()) return check();
  {
    const Communicator::CallScope scope(*communicator_);
    const Library& library = communicator_->library();
    communicator_->require(library.group_start(), "ncclGroupStart");
    FirstFailure failure;
    for (const StreamTransfer& transfer : transfers) {
      if (transfer.sends)
        failure.add(library.send(transfer.out.data(), transfer.out.size(), ncclInt8, transfer.peer,
                                 scope.comm(), stream),
                    "ncclSend");
      if (transfer.receives)
        failure.add(library.receive(transfer.in.data(), transfer.in.size(), ncclInt8, transfer.peer,
                                    scope.comm(), stream),
                    "ncclRecv");
    }
    // The group is ended after a failure, too. An open group would absorb the next NCCL calls of
    // this thread.
    failure.add(library.group_end(), "ncclGroupEnd");
    communicator_->require(failure.result(), failure.call());
  }
  // The work may be missing on the stream until the communicator is ready. The wait calls no
  // function of CUDA, so the stream may be in capture.
  if (!communicator_->wait_ready(deadline))
    fail(sparsecollTimeout, "ncclGroupEnd: no connection within the deadline; not all of ",
         peers_of(transfers), " have made this exchange");
}

void NcclTransport::join(int color, const Deadline& deadline) {
  auto joined = communicator_->split(color, rank_, deadline);
  const std::lock_guard lock(joining_);
  joined_ = std::move(joined);
}

void NcclTransport::reduce_scatter(const void* in, void* out, size_t count, DataType type,
                                   Stream stream, const Deadline& deadline) {
  {
    const Communicator::CallScope scope(*joined_);
    joined_->require(joined_->library().reduce_scatter(in, out, count, type_of(type), ncclSum,
                                                       scope.comm(), stream),
                     "ncclReduceScatter");
  }
  if (!joined_->wait_ready(deadline))
    fail(sparsecollTimeout,
         "ncclReduceScatter: no connection within the deadline; not all ranks of the node have "
         "made this call");
}

void NcclTransport::check() {
  communicator_->check();
  const std::lock_guard lock(joining_);
  if (joined_) joined_->check();
}

std::unique_ptr<StreamTransport> NcclTransport::split(int color, int key,
                                                      const Deadline& deadline) {
  auto made = communicator_->split(color, key, deadline);
  if (!made) return nullptr;
  return std::make_unique<NcclTransport>(std::move(made), deadline);
}

std::unique_ptr<StreamTransport> NcclTransport::shrink(std::span<const int> excluded,
                                                       const Deadline& deadline) {
  if (shrink_ended_)
    fail(sparsecollInvalidUsage,
         "nccl: a shrink of this communicator has failed before, and NCCL cannot repeat one");
  try {
    // NCCL refuses an empty list. Then no rank is left out, so a split gives the same result.
    auto made = excluded.empty() ? reserve_->split(0, rank_, deadline)
                                 : reserve_->shrink({excluded.begin(), excluded.end()}, deadline);
    if (!made) fail(sparsecollSystemError, "ncclCommShrink: made no communicator");
    set_shrunk(made.get());
    // The new transport splits a communicator, too, and interrupt_shrink() must also end that.
    auto shrunk = std::make_unique<NcclTransport>(std::move(made), deadline);
    set_shrunk(nullptr);
    return shrunk;
  } catch (...) {
    set_shrunk(nullptr);
    interrupt_shrink();
    throw;
  }
}

void NcclTransport::close(const Deadline& deadline) {
  if (joined_) joined_->close(deadline);
  communicator_->close(deadline);
  reserve_->interrupt();  // this is local: the reserve has no operations to end
}

void NcclTransport::interrupt() noexcept {
  communicator_->interrupt();
  const std::lock_guard lock(joining_);
  if (joined_) joined_->interrupt();
}

void NcclTransport::interrupt_shrink() noexcept {
  reserve_->interrupt();
  const std::lock_guard lock(joining_);
  shrink_ended_ = true;
  if (shrunk_) shrunk_->interrupt();
}

void NcclTransport::set_shrunk(Communicator* shrunk) {
  const std::lock_guard lock(joining_);
  shrunk_ = shrunk;
  if (shrunk_ && shrink_ended_) shrunk_->interrupt();
}

}  // namespace sparsecoll::nccl
