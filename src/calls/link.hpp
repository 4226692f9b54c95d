// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "calls/group_task.hpp"
#include "core/arena.hpp"
#include "core/deadline.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"
#include "core/thread_placement.hpp"

namespace sparsecoll {

class Device;
class FlightRecorder;
class FramedLink;
class Link;
class StreamLink;

/// The two kinds of links. See calls/framed/framed_link.hpp and calls/stream/stream_link.hpp.
using LinkKind = std::variant<FramedLink*, StreamLink*>;

/// The objects and settings that a link borrows from its communicator.
struct LinkResources {
  Memory& memory;
  Arena& arena;
  bool verify;  ///< Messages carry checksums, and receivers check them.
  int timeout_ms;
  Timeline* timeline = nullptr;        ///< Null: nothing is recorded.
  FlightRecorder* recorder = nullptr;  ///< Null: nothing is recorded.
};

/// Memory that nobody may free or reuse, because a broken link may still access it.
struct AbandonedMemory {
  size_t bytes = 0;                ///< bytes of the link itself
  bool touches_workspace = false;  ///< The workspace of the communicator must be given up, too.
};

/// The arguments of sparsecollCommSplit().
struct SplitArguments {
  int color;
  int key;
};

/// The arguments of sparsecollCommShrink().
struct ShrinkArguments {
  std::optional<std::vector<int>> excluded;  ///< none: the ranks that are known to be gone
  std::optional<Error> problem;              ///< the error of this rank's arguments
  uint64_t committed;                        ///< number of this rank's last committed call
  int timeout_ms;
};

/// A link between the remaining ranks of another link.
struct ShrunkLink {
  std::unique_ptr<Link> link;
  /// Number of the last call that all of them have committed. Over NCCL it is that of this rank
  /// until the initialisation of the communicator, in which they agree.
  uint64_t committed;
  Deadline deadline;                  ///< the deadline of the new communicator's initialisation
  std::optional<Error> problem = {};  ///< the error with which this rank fails in the
                                      ///< initialisation
};

/// One rank's connection to the other ranks of its communicator.
///
/// A link lives as long as the communicator and runs all its calls. It makes sure that all ranks
/// make the same call. Only one thread at a time may use it; only abort() may come from any thread.
class Link {
 public:
  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns how many ranks run on the CPUs of this rank, including itself, as far as it knows.
  virtual CpuShare cpu_share() const = 0;
  /// Returns a number of the node of this rank. Ranks with the same number share its memory.
  virtual uint64_t node() const = 0;
  /// Returns the rank of this process in the job that started it.
  virtual int world_rank() const = 0;
  /// Returns the only device whose memory messages can lie in; none: any memory will do.
  virtual std::optional<int> device() const = 0;
  /// Returns the kind of this link. link_as() gives access to the functions of one kind.
  virtual LinkKind kind() = 0;
  /// Returns whether gossip waits at its receiver until a step takes it.
  virtual bool keeps_gossip() const = 0;
  /// Throws InvalidUsage when the calling thread must not make calls (thread levels of MPI).
  virtual void check_thread() const = 0;
  /// Throws InvalidUsage when calls must not run on a thread of the library (thread levels of MPI).
  virtual void check_queue() const = 0;

  /// Hands over the objects that the link borrows. Must be the first call.
  virtual void open(const LinkResources& resources) = 0;
  /// Hands over the device that the communicator works on. At most once. A link with a device()
  /// needs it before its first call.
  virtual void attach(Device& device) = 0;

  /// Marks the beginning of this rank's part of a call. Throws the error of a peer that has already
  /// failed in the call.
  virtual void begin_call(uint64_t sequence) = 0;
  /// Marks the end of this rank's part of the call.
  virtual void end_call() = 0;
  /// Runs a call that all ranks make. `check` throws when this rank's arguments are wrong; `body`
  /// exchanges messages and confirms. When the ranks disagree, all of them throw, and the error is
  /// not fatal.
  virtual void run(const CallParameters& parameters, const CallIdentity& identity,
                   FunctionRef<void()> check, FunctionRef<void(AgreedCall&)> body) = 0;
  /// Runs the verbs of a group as one call that all ranks make. Confirms.
  virtual void run_group(const CallParameters& parameters, const CallIdentity& identity,
                         FunctionRef<void()> check, std::span<const GroupTask> tasks) = 0;
  /// Runs a call without agreement. All ranks make the same number of such calls.
  virtual void run_unagreed(const CallParameters& parameters, const Descriptor& descriptor,
                            FunctionRef<void()> body) = 0;

  /// Returns this rank's link of the child communicator, or null without a color. Called within
  /// run(). Confirms the call.
  virtual std::unique_ptr<Link> split(AgreedCall& call, const SplitArguments& arguments) = 0;

  /// Makes a link between the ranks that remain when others are gone or excluded. All that remain
  /// call it, also after abandon(). `initialize` gets the link and initialises its communicator. If
  /// a rank fails, its error is thrown on all ranks that learn of it in time.
  virtual void shrink(const ShrinkArguments& arguments,
                      FunctionRef<void(ShrunkLink)> initialize) = 0;
  /// Returns the ranks that are known to be gone.
  virtual std::vector<int> gone() = 0;
  /// Returns the number of the last call whose work on the device is known to have ended, before
  /// any failure; the largest number if the host waits for all calls.
  virtual uint64_t ended() = 0;

  /// Confirms the call, and receives all gossip that any rank has sent before it. Called within
  /// run().
  virtual void flush_gossip(AgreedCall& call) = 0;
  /// Confirms the call. From then on the link keeps gossip for the state with this number. Called
  /// within run().
  virtual void open_gossip(AgreedCall& call, uint64_t state) = 0;
  /// Drops the gossip for this state that has arrived and that will arrive.
  virtual void close_gossip(uint64_t state) noexcept = 0;

  /// Returns whether close() is collective. If it is, all ranks call agree_to_close() first.
  virtual bool close_is_collective() const = 0;
  /// Confirms that all ranks close, and that no gossip is under way. Called within run().
  virtual void agree_to_close(AgreedCall& call) = 0;
  /// Closes the connection in order, before the deadline. No call may be in progress.
  virtual void close(const Deadline& deadline) = 0;

  /// Makes every wait of this rank fail. Any thread may call it.
  virtual void abort() noexcept = 0;
  virtual bool aborted() const = 0;
  /// Closes a broken connection without waiting for peers. Sends them `notice`, if there is one.
  virtual AbandonedMemory abandon(const Error* notice) noexcept = 0;
};

/// Returns the link as one of that kind, FramedLink or StreamLink; null if it is of the other kind.
template <class Kind>
Kind* link_as(Link& link) {
  const LinkKind kind = link.kind();
  Kind* const* const found = std::get_if<Kind*>(&kind);
  return found ? *found : nullptr;
}

/// Reports wrong arguments of this rank when the peers cannot be notified. The call did not start,
/// and the peers wait for it.
class CallNotStarted : public Error {
 public:
  explicit CallNotStarted(const Error& problem) : Error(problem) {}
};

}  // namespace sparsecoll
