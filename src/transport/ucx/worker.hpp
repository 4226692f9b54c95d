// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/deadline.hpp"
#include "transport/bootstrap.hpp"
#include "transport/rank_location.hpp"
#include "transport/ucx/engine.hpp"
#include "transport/ucx/life_lines.hpp"
#include "transport/ucx/mailbox.hpp"

namespace sparsecoll::ucx {

/// The path of messages to a peer. In shared memory all senders write to one queue of the receiver.
/// A process that is killed or stopped while it writes blocks that queue for ever. So after a
/// failure ranks use the network, also within a node.
enum class Path { shortest, network };

/// A message, or a chunk of one, that is to be sent.
struct Outgoing {
  int peer;  ///< the receiver's rank in the communicator
  int rank;  ///< the receiver's rank in the worker
  MessageHeader header;
  ConstBytes bytes;
  Path path = Path::shortest;
  std::shared_ptr<const Buffer> owner = {};  ///< the message, if it was handed over
};

/// The ids of active messages: a fragment of a message, the first one of a peer, and one that a
/// rank sends to itself.
inline constexpr unsigned kMessageId = 0;
inline constexpr unsigned kMeetingId = 1;
inline constexpr unsigned kProbeId = 2;

/// The first message from one rank to another. Its bytes are sent as they are.
struct Introduction {
  RankLocation location;
  LifeLineAddress life_line;
};

/// The lengths of a rank's addresses. Its bytes are sent as they are.
struct AddressLengths {
  uint64_t network = 0;  ///< length of the network engine's address
  uint64_t memory = 0;   ///< length of the shared-memory engine's address; 0: none
};

/// UCX of one rank: its engines and its connections to the other ranks. The communicators that are
/// split from one share it, and may use it from different threads. Each has a mailbox.
///
/// Every method but rank(), size(), locations() and sleep() needs the lock of mutex().
class Worker {
 public:
  /// Connects to all ranks. Collective.
  Worker(int rank, size_t ranks, Bootstrap& bootstrap, const Deadline& deadline);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::mutex& mutex() { return mutex_; }
  int rank() const { return rank_; }
  size_t size() const { return peers_.size(); }
  const std::vector<RankLocation>& locations() const { return locations_; }

  /// Returns the mailbox of the communicator over all ranks. It has the same address on all ranks.
  std::shared_ptr<Mailbox> first_mailbox() const { return mailboxes_.begin()->second; }
  /// Makes a mailbox, and another one on which the same ranks find each other after a failure.
  std::shared_ptr<Mailbox> new_mailbox();
  /// Returns the recovery mailbox of a mailbox; null if it was retired, and for a recovery mailbox.
  std::shared_ptr<Mailbox> recovery_of(const Mailbox& mailbox) const;
  /// Ends a mailbox: messages to it are dropped. Its memory stays until UCX no longer uses it. The
  /// end of the last mailbox ends all connections and operations.
  void retire(const std::shared_ptr<Mailbox>& mailbox);

  /// Starts to send. `from` counts the bytes until they are sent; messages to a peer that has
  /// failed count as sent.
  void send(const std::shared_ptr<Mailbox>& from, const Outgoing& message);
  /// Lets UCX make progress. Returns whether it has made any.
  bool progress();
  /// Lets UCX make progress for a rank that polls. If the rank reaches all peers in shared memory,
  /// most calls leave out the network, because looking at it takes a system call.
  void poll();
  /// Returns whether this peer has failed or left.
  bool failed(int peer) const { return peers_[static_cast<size_t>(peer)].failed; }
  /// Checks which peers on this node have died, unless it did so a short time ago.
  void look_for_dead();
  /// Returns the peer whose death has blocked this rank's queue in shared memory, if one has.
  std::optional<int> blocked_by() const { return blocked_by_; }
  /// Waits until the mailbox has had more than `seen` events or is woken, or `interrupted` is true.
  void sleep(Mailbox& mailbox, uint64_t seen, Clock::time_point limit,
             const std::atomic<bool>& interrupted);

  /// Waits until UCX has sent its queued data to these peers, at most until `limit`.
  void flush(const std::vector<int>& peers, Path path, Clock::time_point limit);

 private:
  struct Connection {
    Engine* engine = nullptr;
    ucp_ep_h endpoint = nullptr;
    size_t fragment = 0;  ///< bytes of one active message
  };
  static bool over_network(const Connection& connection) {
    return connection.endpoint && connection.engine->kind() == Engine::Kind::network;
  }
  struct Peer {
    Worker* worker = nullptr;
    int rank = 0;
    Connection shortest;
    Connection network;                      ///< made when it is needed, besides `shortest`
    std::vector<std::byte> network_address;  ///< empty: `shortest` is over the network
    bool failed = false;
    bool met = false;
  };
  /// A fragment that UCX is sending.
  struct Operation {
    Worker* worker;
    std::shared_ptr<Mailbox> mailbox;
    MessageHeader header;  ///< UCX reads it until the send is done
    std::shared_ptr<const Buffer> owner;
    int rank;      ///< rank of the receiver in the worker
    int peer;      ///< rank of the receiver in the mailbox's communicator
    size_t bytes;  ///< bytes that the mailbox counts as unsent
  };

  /// A message that this rank sent to itself through its queue in shared memory.
  struct Probe {
    int dead;  ///< the peer that died before
    Clock::time_point sent;
  };

  /// Makes the engines. Appends their addresses and returns the lengths of these.
  AddressLengths start(std::vector<std::byte>& addresses);
  void shut_down() noexcept;
  void connect(const std::vector<AddressLengths>& lengths, const std::vector<std::byte>& addresses);
  /// Sends each rank an empty message and waits for those of all. Then UCX has all connections, and
  /// reports when a peer dies.
  void meet(const Deadline& deadline);
  /// Returns the peer's connection on this path. It has no endpoint if the peer has failed, or
  /// nothing was sent on this path.
  Connection& connection(Peer& peer, Path path);
  /// Returns the connection, and makes it if needed. It has no endpoint if the peer has failed.
  Connection& connect(Peer& peer, Path path);
  /// Connects to a peer. The connection has no endpoint if UCX cannot reach the peer.
  Connection connect_by_network(Peer& peer, const std::byte* address);
  /// Does what follows from UCX's progress; `any`: there was some.
  void after_progress(bool any);
  void fail_peer(int rank);
  void close_failed();
  /// Receives all that has arrived.
  void receive_all();
  /// Sends a probe, because this peer has died. It arrives unless the peer has blocked the queue.
  void probe_queue(int dead);
  /// Counts all bytes that are being sent to a failed peer as sent, because UCX will not report it.
  void forget_sends(int rank);
  Operation& new_operation();
  void release(Operation& operation);
  void start_send(const std::shared_ptr<Mailbox>& from, const Outgoing& message,
                  const MessageHeader& header, ConstBytes bytes);
  void deliver(const MessageHeader& header, ConstBytes bytes);
  void receive(const MessageHeader& header, ConstBytes bytes);
  void wait_for(std::vector<void*>& requests, Clock::time_point limit);

  static void on_failure(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  static ucs_status_t on_message(void* worker, const void* header, size_t header_bytes, void* data,
                                 size_t bytes, const ucp_am_recv_param_t* how);
  static ucs_status_t on_meeting(void* worker, const void* header, size_t header_bytes, void* data,
                                 size_t bytes, const ucp_am_recv_param_t* how);
  static ucs_status_t on_probe(void* worker, const void* header, size_t header_bytes, void* data,
                               size_t bytes, const ucp_am_recv_param_t* how);
  static void on_sent(void* request, ucs_status_t status, void* operation);

  std::mutex mutex_;
  const Library& ucx_;
  const int rank_;
  std::vector<RankLocation> locations_;
  std::optional<LifeLines> life_lines_;      ///< until shut_down()
  Clock::time_point looked_ = Clock::now();  ///< when this rank last checked for dead peers
  ucp_ep_h to_itself_ = nullptr;             ///< in shared memory; made for the first probe
  std::deque<Probe> probes_;                 ///< those that have not arrived yet
  std::vector<void*> probe_requests_;        ///< UCX's requests of all probes
  std::optional<int> blocked_by_;
  std::vector<Peer> peers_;    ///< by rank; never moves
  bool uses_network_ = false;  ///< this rank has connections over the network
  unsigned polls_ = 0;
  std::vector<int> to_close_;  ///< failed peers whose endpoints are not closed yet
  uint64_t next_address_ = Mailbox::kFirstAddress;
  std::map<uint64_t, std::shared_ptr<Mailbox>> mailboxes_;  ///< by address
  std::deque<Operation> operations_;                        ///< a deque never moves its elements
  std::vector<Operation*> free_;
  int sleepers_ = 0;
  std::vector<std::unique_ptr<Engine>> engines_;  ///< the network's engine first; until shut_down()
};

}  // namespace sparsecoll::ucx
