// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_GROUP_HPP_
#define SPARSECOLL_CXX_GROUP_HPP_

/// @file
/// @brief A group of verbs that share messages. Included by sparsecoll.hpp.

#include <functional>
#include <sparsecoll/cxx/communicator.hpp>

namespace sparsecoll {
inline namespace cxx {

/// A group of verbs that share messages, so that all of them together pay for the latency once.
///
/// The verbs of a Group only record the calls. end() makes all of them, as one collective call.
/// Until then buffers, vectors and residuals must neither move nor change. All ranks make the same
/// calls in the same order. Calls on the communicator itself are not part of the group.
///
/// A group that is destroyed without end(), for example by an exception, is void: on this rank no
/// output and no residual is changed, and all other ranks get sparsecollInvalidUsage for their
/// group. The destructor notifies them by a collective call, which waits until they end their
/// group, at most until the deadline. It never throws; with blocking = 0 synchronize() throws the
/// error of the void group.
class Group : public Verbs<Group> {
 public:
  /// Opens a group. @param comm must outlive it.
  explicit Group(Communicator& comm) noexcept : comm_(comm.get()) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (open_) make_void();
  }

  /// Makes the recorded calls. An error voids all of them. Outputs in coordinate form grow as
  /// needed; with blocking = 0 they do not, and synchronize() throws Truncated.
  void end() {
    if (!open_) throw Error(sparsecollInvalidUsage, "Group::end: the group has ended");
    open_ = false;
    detail::check(sparsecollGroupStart(comm_), "sparsecollGroupStart", comm_);
    sparsecollResult_t result = sparsecollSuccess;
    const char* name = "sparsecollGroupEnd";
    for (const Member& member : members_) {
      result = member.call(comm_);
      if (result == sparsecollSuccess) continue;
      name = member.name;
      break;
    }
    // A call that was refused makes the group differ from those of the other ranks, which voids it.
    const sparsecollResult_t ended = sparsecollGroupEnd(comm_);
    detail::check(result, name, comm_);
    if (ended != sparsecollTruncated) return detail::check(ended, name, comm_);
    for (const Member& member : members_)
      detail::check(member.fetch(comm_), "sparsecollFetch", comm_);
  }

  /// Returns the number of ranks, P.
  int size() const {
    int size = 0;
    detail::check(sparsecollCommCount(comm_, &size), "sparsecollCommCount", comm_);
    return size;
  }

 private:
  friend class Verbs<Group>;

  using Function = std::function<sparsecollResult_t(sparsecollComm_t)>;
  struct Member {
    const char* name;
    Function call;
    Function fetch;
  };

  template <class Call, class Fetch>
  void submit(const char* name, const Call& call, const Fetch& fetch) {
    if (!open_) throw Error(sparsecollInvalidUsage, std::string(name) + ": the group has ended");
    members_.push_back({name, call, fetch});
  }

  /// Voids the group on all ranks: makes a group with one invalid call, which no rank accepts.
  void make_void() noexcept {
    if (sparsecollGroupStart(comm_) != sparsecollSuccess) return;
    ::sparseAllreduce(nullptr, nullptr, 1, 1, sparsecollFloat32, sparsecollSum, nullptr, comm_,
                      nullptr);
    sparsecollGroupEnd(comm_);
  }

  sparsecollComm_t comm_;
  std::vector<Member> members_;
  bool open_ = true;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_GROUP_HPP_
