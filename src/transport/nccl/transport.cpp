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

/// The first result of several calls that is neither success nor "in progress", and whose it is.
class Outcome {
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

/// "ranks 1, 2, 7"
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

NcclTransport::NcclTransport(std::unique_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)) {
  const Communicator::Use use(*communicator_);
  const Library& library = communicator_->library();
  communicator_->require(library.comm_rank(use.comm(), &rank_), "ncclCommUserRank");
  communicator_->require(library.comm_count(use.comm(), &size_), "ncclCommCount");
}

void NcclTransport::exchange(std::span<const StreamTransfer> transfers, Stream stream,
                             const Deadline& deadline) {
  if (transfers.empty()) return check();
  {
    const Communicator::Use use(*communicator_);
    const Library& library = communicator_->library();
    communicator_->require(library.group_start(), "ncclGroupStart");
    Outcome outcome;
    for (const StreamTransfer& transfer : transfers) {
      if (transfer.sends)
        outcome.add(library.send(transfer.out.data(), transfer.out.size(), ncclInt8, transfer.peer,
                                 use.comm(), stream),
                    "ncclSend");
      if (transfer.receives)
        outcome.add(library.receive(transfer.in.data(), transfer.in.size(), ncclInt8, transfer.peer,
                                    use.comm(), stream),
                    "ncclRecv");
    }
    // After a failure, too: a group that is left open takes in whatever this thread calls next.
    outcome.add(library.group_end(), "ncclGroupEnd");
    communicator_->require(outcome.result(), outcome.call());
  }
  // Until then the work may not be on the stream. A look calls nothing of CUDA, so that a stream
  // may be captured meanwhile.
  if (!communicator_->settle(deadline))
    fail(sparsecollTimeout, "ncclGroupEnd: no connection within the deadline; not all of ",
         peers_of(transfers), " have made this exchange");
}

void NcclTransport::check() { communicator_->check(); }

std::unique_ptr<StreamTransport> NcclTransport::split(int color, int key,
                                                      const Deadline& deadline) {
  auto part = communicator_->split(color, key, deadline);
  if (!part) return nullptr;
  return std::make_unique<NcclTransport>(std::move(part));
}

void NcclTransport::close(const Deadline& deadline) { communicator_->close(deadline); }

void NcclTransport::interrupt() noexcept { communicator_->interrupt(); }

}  // namespace sparsecoll::nccl
