// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include "api/arguments.hpp"
#include "api/bridge.hpp"
#include "api/communicator.hpp"

namespace sparsecoll {

/// One verb in progress, after its arguments were found good.
struct Turn {
  Communicator& communicator;
  AgreedCall& call;
  const Descriptor& descriptor;  ///< what the ranks agree on
  Warm& warm;                    ///< what this shape's last call left; kept by the commit
};

/// The caller's memory that a verb works on.
struct Footprint {
  std::vector<Place> reads;
  std::vector<Place> writes;
  Residual* residual = nullptr;
};

/// A verb with its arguments by value, so that it may run later and on another thread.
class Operation {
 public:
  virtual ~Operation() = default;

  virtual Descriptor descriptor() const = 0;
  /// On the caller's thread, when it is to run later.
  void mark(Communicator& communicator) noexcept { site_.mark(communicator, buffers()); }
  /// Groups wait on the host.
  void join_group() { site_.forbid_capture(); }
  /// Throws InvalidArgument for what this rank should not have passed.
  void check(Communicator& communicator) {
    site_.enter(communicator, buffers());
    check_arguments(communicator);
  }
  /// After check().
  virtual Footprint footprint() const = 0;
  /// Exchanges, confirms, then writes outputs and state. Throws Truncated when all of that is done
  /// but an output was too small.
  virtual void run(const Turn& turn) = 0;

 protected:
  /// Where the work is done; known when arguments are checked.
  const Site& site() const { return site_; }
  Site& site() { return site_; }

 private:
  /// What there is of them before they are checked.
  virtual Buffers buffers() const noexcept = 0;
  virtual void check_arguments(Communicator& communicator) = 0;

  Site site_;
};

/// The way of every verb from the C function to its work: joins the open group, or the queue where
/// calls do not block, or is done at once. Queued calls may still write counts into structs that an
/// operation points to: only its turn reads these.
template <class Call>
sparsecollResult_t submit(Verb verb, Call call, sparsecollComm_t comm) {
  const char* const name = verb_name(static_cast<uint64_t>(verb));
  return on_entered(name, comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.take_part([&] {
      if (communicator.grouping())
        return communicator.record(std::make_unique<Call>(std::move(call)));
      if (!communicator.queue()) return communicator.run(call);
      const auto kept = std::make_shared<Call>(std::move(call));
      kept->mark(communicator);
      communicator.enqueue(name, [&communicator, kept] { communicator.run(*kept); });
    });
    return sparsecollSuccess;
  });
}

/// The same for a function that is local but works on the caller's buffers; `body(Communicator&,
/// const Site&)` holds its arguments by value and throws.
template <class Body>
sparsecollResult_t submit_local(const char* operation, sparsecollComm_t comm,
                                const Buffers& buffers, Body body) {
  return on_entered(operation, comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    const auto work = [&communicator, buffers, body](Site site) {
      const Workspace workspace(communicator);
      site.enter(communicator, buffers);
      body(communicator, site);
    };
    Site site;
    if (!communicator.queue()) {
      work(site);
    } else {
      site.mark(communicator, buffers);
      communicator.queue()->push(Queue::Kind::local, operation, [&communicator, work, site] {
        communicator.check_healthy();
        work(site);
      });
    }
    return sparsecollSuccess;
  });
}

}  // namespace sparsecoll
