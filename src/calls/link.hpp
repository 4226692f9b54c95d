// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "calls/call.hpp"
#include "calls/descriptor.hpp"
#include "core/arena.hpp"
#include "core/deadline.hpp"
#include "core/error.hpp"
#include "core/function_ref.hpp"

namespace sparsecoll {

class Channel;
class Device;
class StreamCall;
struct DeviceTotals;

/// What is known of a call before it is made.
struct CallParameters {
  uint64_t sequence;
  Deadline deadline;
  Stats& stats;
};

/// What the ranks must agree on in one call.
struct Agreed {
  Agreed(const Descriptor& call, std::span<const Descriptor> calls = {})
      : descriptor(call), members(calls) {}
  Descriptor descriptor;
  std::span<const Descriptor> members;  ///< of a group
};

/// One verb of a group.
struct GroupTask {
  std::function<void(AgreedCall&)> run;
  int after = -1;  ///< starts when that member has come to its confirm(); -1: at once
};

/// What a link borrows from the communicator that it serves.
struct LinkResources {
  Memory& memory;
  Arena& arena;
  bool verify;  ///< messages are checked
  int timeout_ms;
  Timeline* timeline = nullptr;  ///< null: nothing is recorded
};

/// What was given up for good with a broken link, and what its owner must give up, too.
struct AbandonedMemory {
  size_t bytes = 0;
  bool touches_workspace = false;
};

/// A rank's wish for a part of the communicator.
struct SplitWish {
  int color;
  int key;
};

/// One rank's connection to the others of its communicator, through all its calls. Agreement is
/// made here. One thread at a time, but for abort().
class Link {
 public:
  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How many ranks run on the same CPUs as this one, itself included, as far as it knows.
  virtual int neighbours() const { return size(); }
  /// A number of the node that this rank is on: others with the same one share its memory and its
  /// link.
  virtual uint64_t node() const = 0;
  /// Refuses a thread that must not make calls (MPI's thread levels) by InvalidUsage.
  virtual void check_thread() const = 0;
  /// Refuses that calls are made on a thread of the library beside the caller's, likewise.
  virtual void check_queue() const = 0;
  /// Comes first.
  virtual void open(const LinkResources& owner) = 0;

  /// From now on this rank is in that call. Throws what peers did to it already.
  virtual void begin(uint64_t sequence) = 0;
  /// This rank has done its part of that call.
  virtual void end() = 0;
  /// One call that all ranks make. `check` throws what this rank should not have passed; `body`
  /// exchanges and confirms. Where ranks disagree, all are told so by exceptions that are not
  /// fatal.
  virtual void make(const CallParameters& terms, const Agreed& agreed, FunctionRef<void()> check,
                    FunctionRef<void(AgreedCall&)> body) = 0;
  /// In stream order: one that is agreed on with nobody, of which every rank makes as many; the
  /// device's work has begun.
  virtual void make_alone(const CallParameters& terms, const Descriptor& descriptor,
                          FunctionRef<void(StreamCall&)> body) = 0;
  /// Runs the members of a group in a call of make().
  virtual void run_group(AgreedCall& call, std::span<const GroupTask> members) = 0;

  /// In a call of make(): the connection of this rank's part, null without a color. Confirms.
  virtual std::unique_ptr<Link> split(AgreedCall& call, const SplitWish& wish) = 0;
  /// True when close() is collective: then comes leave(), in a call of make().
  virtual bool close_is_collective() const = 0;
  virtual void leave(AgreedCall& call) = 0;
  /// Orderly end; nothing is under way.
  virtual void close() = 0;

  /// From any thread: whoever waits stops.
  virtual void abort() noexcept = 0;
  virtual bool aborted() const = 0;
  /// Local, bounded end of a broken connection; peers get the notice, if there is one.
  virtual AbandonedMemory abandon(const Error* notice) noexcept = 0;

  // --- for connections in stream order
  /// The device whose memory all messages are in; none where any will do.
  virtual std::optional<int> device() const { return {}; }
  /// This rank's end of that device, before the first call.
  virtual void use(Device&) {}
  /// What has gone wrong since with calls that nobody waits for.
  virtual std::optional<Error> failure() { return {}; }
  /// What they have come to, as far as they are done; null where all calls are waited for.
  virtual const DeviceTotals* tally() const { return nullptr; }

  /// Where messages of any size come in whenever they do; null where there is no such way.
  virtual Channel* channel() { return nullptr; }
};

/// What was wrong with this rank's arguments where nobody can be told: the call was not made, and
/// the peers wait for it.
class NotMade : public Error {
 public:
  explicit NotMade(const Error& problem) : Error(problem) {}
};

class Transport;
/// Over messages that can be waited for: MPI's or between threads.
std::unique_ptr<Link> make_framed_link(std::unique_ptr<Transport> transport);
class StreamTransport;
/// In the order of streams: NCCL's.
std::unique_ptr<Link> make_stream_link(std::unique_ptr<StreamTransport> transport);

}  // namespace sparsecoll
