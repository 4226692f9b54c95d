// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Makes a worker: its ranks exchange their locations and addresses, connect, and exchange a first
// message.

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "core/descriptors.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "transport/rendezvous/interfaces.hpp"
#include "transport/ucx/worker.hpp"

namespace sparsecoll::ucx {

namespace {

/// The bytes that one active message carries. They fit in one packet of UCX's shared memory (8 KiB)
/// and of its TCP (64 KiB), so that UCX hands them over where they have arrived, and does not first
/// put a message together in memory of its own.
constexpr size_t kFragmentInMemory = 8000;
constexpr size_t kFragment = 60 * 1024;
/// The number of descriptors that a rank opens at the start, and some more: if they run out, UCX
/// 1.13 ends the process. Those for connections are not counted, because networks need different
/// numbers.
constexpr size_t kDescriptors = 40;
constexpr auto kMostMeeting = std::chrono::milliseconds(500);

/// Returns the values that all ranks pass, by rank. T is trivially copyable.
template <class T>
std::vector<T> gather(Bootstrap& bootstrap, size_t ranks, const T& own) {
  std::vector<T> all(ranks);
  const std::vector<std::byte> bytes = bootstrap.allgather(std::as_bytes(std::span(&own, 1)));
  std::memcpy(all.data(), bytes.data(), ranks * sizeof own);
  return all;
}

/// Returns the network devices that UCX may use, or "" if it may use all of them. Containers of one
/// machine may have networks of their own, and UCX 1.13 would connect them by the loopback
/// interface, by which each reaches only itself.
std::string network_devices(const std::vector<RankLocation>& ranks, int rank) {
  const RankLocation& own = ranks[static_cast<size_t>(rank)];
  const bool has_neighbours = std::ranges::any_of(ranks, [&](const RankLocation& each) {
    return each.machine == own.machine && each.node != own.node;
  });
  if (!has_neighbours || environment("UCX_NET_DEVICES")) return "";
  std::set<std::string> names;
  for (const Interface& each : interfaces_of_system())
    if (!each.loopback) names.insert(each.name);
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/infiniband", none))
    names.insert(each.path().filename().string() + ":1");
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all;
}

}  // namespace

Worker::Worker(int rank, size_t ranks, Bootstrap& bootstrap, const Deadline& deadline)
    : ucx_(open_library()), rank_(rank), peers_(ranks) {
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    peers_[peer].worker = this;
    peers_[peer].rank = static_cast<int>(peer);
  }
  to_close_.reserve(peers_.size());
  const DescriptorsNeeded needed(kDescriptors, "UCX");
  try {
    life_lines_.emplace(rank, ranks);
    std::vector<LifeLineAddress> life_lines;
    for (const Introduction& peer :
         gather(bootstrap, ranks, Introduction{RankLocation::here(), life_lines_->address()})) {
      locations_.push_back(peer.location);
      life_lines.push_back(peer.life_line);
    }
    life_lines_->connect(life_lines);
    std::vector<std::byte> own;
    const std::vector<AddressLengths> lengths = gather(bootstrap, ranks, start(own));
    for (const AddressLengths& each : lengths)
      own.resize(std::max(own.size(), size_t{each.network + each.memory}));
    const std::vector<std::byte> addresses = bootstrap.allgather(own);
    life_lines_->accept_all();
    new_mailbox();  // a peer may send as soon as it is connected to this rank
    connect(lengths, addresses);
    meet(deadline);
  } catch (...) {
    shut_down();
    throw;
  }
}

AddressLengths Worker::start(std::vector<std::byte>& addresses) {
  engines_.push_back(std::make_unique<Engine>(Engine::Kind::network, peers_.size(),
                                              network_devices(locations_, rank_)));
  // A user who sets UCX_TLS chooses how UCX sends, also within a node.
  if (!environment("UCX_TLS")) try {
      engines_.push_back(std::make_unique<Engine>(Engine::Kind::memory, peers_.size(), ""));
    } catch (const Error&) {
      // The system has no shared memory.
    }
  AddressLengths lengths;
  for (const auto& engine : engines_) {
    engine->listen(kMessageId, on_message, this);
    engine->listen(kMeetingId, on_meeting, this);
    engine->listen(kProbeId, on_probe, this);
    const std::vector<std::byte> address = engine->address();
    (engine == engines_.front() ? lengths.network : lengths.memory) = address.size();
    addresses.insert(addresses.end(), address.begin(), address.end());
  }
  return lengths;
}

void Worker::connect(const std::vector<AddressLengths>& lengths,
                     const std::vector<std::byte>& addresses) {
  const size_t stride = addresses.size() / peers_.size();
  for (Peer& peer : peers_) {
    if (peer.rank == rank_) continue;
    const auto r = static_cast<size_t>(peer.rank);
    const std::byte* const address = addresses.data() + r * stride;
    // UCX does not report that a peer in shared memory has died. Its life line does.
    if (engines_.size() > 1 && lengths[r].memory > 0 && life_lines_->has(peer.rank)) {
      Engine* const memory = engines_.back().get();
      peer.shortest = {memory, memory->connect(address + lengths[r].network, on_failure, &peer),
                       kFragmentInMemory};
    }
    if (peer.shortest.endpoint)
      peer.network_address.assign(address, address + lengths[r].network);
    else
      peer.shortest = connect_by_network(peer, address);
    if (!peer.shortest.endpoint)
      fail(sparsecollSystemError, "UCX has no connection to rank ", peer.rank);
  }
}

Worker::Connection Worker::connect_by_network(Peer& peer, const std::byte* address) {
  Engine* const network = engines_.front().get();
  uses_network_ = true;
  return {network, network->connect(address, on_failure, &peer), kFragment};
}

void Worker::meet(const Deadline& deadline) {
  const auto own = static_cast<uint32_t>(rank_);  // UCX reads it until the messages are sent
  std::vector<void*> requests;
  const ucp_request_param_t how{};
  for (Peer& peer : peers_) {
    peer.met = peer.rank == rank_;
    if (peer.met || peer.failed) continue;
    void* const request =
        ucx_.send(peer.shortest.endpoint, kMeetingId, &own, sizeof own, nullptr, 0, &how);
    if (UCS_PTR_IS_ERR(request)) fail_peer(peer.rank);
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  const auto is_missing = [](const Peer& peer) { return !peer.met && !peer.failed; };
  auto missing = peers_.begin();
  while ((missing = std::find_if(missing, peers_.end(), is_missing)) != peers_.end() &&
         !deadline.passed())
    if (!progress()) sched_yield();
  wait_for(requests, deadline.within(kMostMeeting));
  if (missing != peers_.end())
    fail(sparsecollTimeout, "deadline passed, nothing was heard over UCX from rank ",
         missing->rank);
  const auto failed = std::ranges::find(peers_, true, &Peer::failed);
  if (failed != peers_.end())
    fail(sparsecollRemoteError, "rank ", failed->rank, " cannot be reached over UCX, or has ended");
}

ucs_status_t Worker::on_meeting(void* worker, const void* header, size_t header_bytes, void*,
                                size_t, const ucp_am_recv_param_t*) {
  uint32_t rank = 0;
  if (header_bytes != sizeof rank) return UCS_OK;
  std::memcpy(&rank, header, sizeof rank);
  Worker& self = *static_cast<Worker*>(worker);
  if (rank < self.peers_.size()) self.peers_[rank].met = true;
  return UCS_OK;
}

}  // namespace sparsecoll::ucx
