// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/rendezvous/session.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace sparsecoll::rendezvous {

namespace {

constexpr uint32_t kMostRanks = 1u << 20;
constexpr size_t kMostNamed = 20;

Frame failure(sparsecollResult_t code, const std::string& why) {
  return make_frame(FrameKind::failure, static_cast<uint32_t>(code), bytes_of(why));
}

}  // namespace

template <class Condition>
std::string Session::ranks_where(Condition is_missing) const {
  std::string names;
  size_t count = 0;
  for (size_t rank = 0; rank < seats_.size(); ++rank) {
    if (!is_missing(seats_[rank]) || ++count > kMostNamed) continue;
    names += (names.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (count > kMostNamed) names += text(" and ", count - kMostNamed, " more");
  return (count == 1 ? "rank " : "ranks ") + names;
}

std::string Session::greeting_problem(const Greeting& greeting) const {
  if (seats_.empty()) {
    const bool sound = greeting.ranks > 0 && greeting.ranks <= kMostRanks;
    return sound && greeting.rank < greeting.ranks
               ? ""
               : text("rank ", greeting.rank, " of ", greeting.ranks, " ranks came");
  }
  if (greeting.version != version_)
    return text("the versions of the library differ: rank ", greeting.rank, " has ",
                greeting.version, ", rank ", first_, " has ", version_);
  if (greeting.ranks != seats_.size())
    return text("nranks differs: rank ", greeting.rank, " passed ", greeting.ranks, ", rank ",
                first_, " passed ", seats_.size());
  if (greeting.rank >= seats_.size())
    return text("rank ", greeting.rank, " of ", greeting.ranks, " ranks came");
  return "";
}

int Session::join(Guest& guest, const Greeting& greeting) {
  const auto refuse = [&](const std::string& why) {
    guest.send(failure(sparsecollInvalidUsage, why));
    return -1;
  };
  if (over_)
    return refuse("the init of this id has failed before rank " + std::to_string(greeting.rank) +
                  " came: " + why_);
  if (complete_) return refuse("this id was used before: each makes one communicator");
  std::string problem = greeting_problem(greeting);
  if (problem.empty() && !seats_.empty() && seats_[greeting.rank].guest)
    problem = text("rank ", greeting.rank, " came twice: from ", seats_[greeting.rank].name,
                   " and from ", guest.name());
  if (!problem.empty()) {
    guest.send(failure(sparsecollInvalidUsage, problem));
    fail_all(sparsecollInvalidUsage, problem);
    return -1;
  }
  if (seats_.empty()) {
    seats_.resize(greeting.ranks);
    version_ = greeting.version;
    first_ = greeting.rank;
  }
  seats_[greeting.rank] = {&guest, guest.name(), std::nullopt};
  complete_ = ++present_ == seats_.size();
  if (greeting.timeout_ms != kNoTimeout)
    deadline_ = std::min(deadline_, Clock::now() + std::chrono::milliseconds(greeting.timeout_ms));
  return static_cast<int>(greeting.rank);
}

void Session::contribute(int rank, ConstBytes bytes) {
  if (over_) return;
  Seat& own = seats_[static_cast<size_t>(rank)];
  if (own.bytes) return give_up(rank, "it passed its part twice");
  own.bytes.emplace(bytes.begin(), bytes.end());
  const auto left = std::ranges::find(seats_, nullptr, &Seat::guest);
  if (complete_ && left != seats_.end())
    return fail_all(sparsecollRemoteError,
                    text("rank ", left - seats_.begin(), " left during the init"));
  if (!complete_ ||
      !std::ranges::all_of(seats_, [](const Seat& seat) { return seat.bytes.has_value(); }))
    return;
  std::vector<std::byte> all;
  for (size_t r = 0; r < seats_.size(); ++r) {
    const std::vector<std::byte>& part = *seats_[r].bytes;
    if (part.size() != bytes.size())
      return fail_all(sparsecollInvalidUsage,
                      text("rank ", r, " passed ", part.size(), " bytes, rank ", rank, " passed ",
                           bytes.size()));
    all.insert(all.end(), part.begin(), part.end());
  }
  const Frame answer = make_frame(FrameKind::data, 0, all);
  for (Seat& seat : seats_) {
    seat.bytes.reset();
    seat.guest->send(answer);
  }
}

void Session::give_up(int rank, const std::string& why) {
  fail_all(sparsecollRemoteError, text("rank ", rank, " failed in the init: ", why));
}

void Session::leave(int rank) {
  Seat& seat = seats_[static_cast<size_t>(rank)];
  const bool passed = seat.bytes.has_value();
  seat.guest = nullptr;
  seat.bytes.reset();
  --present_;
  if (over_ || !complete_) return;  // the rank may connect again
  // After the last allgather all ranks leave, and no rank has passed bytes.
  const bool awaited = passed || std::ranges::any_of(seats_, [](const Seat& each) {
                         return each.bytes.has_value();
                       });
  if (awaited) fail_all(sparsecollRemoteError, text("rank ", rank, " left during the init"));
}

void Session::expire(Clock::time_point now) {
  if (now < deadline_) return;
  deadline_ = Clock::time_point::max();
  if (over_ || present_ == 0) return;
  if (!complete_)
    return fail_all(sparsecollTimeout,
                    text("deadline passed, ", ranks_where([](const Seat& s) { return !s.guest; }),
                         " of ", seats_.size(), " did not come"));
  if (std::ranges::any_of(seats_, [](const Seat& each) { return each.bytes.has_value(); }))
    fail_all(sparsecollTimeout, text("deadline passed, nothing was heard from ",
                                     ranks_where([](const Seat& seat) { return !seat.bytes; })));
}

void Session::fail_all(sparsecollResult_t code, const std::string& why) {
  if (over_) return;
  over_ = true;
  why_ = why;
  deadline_ = Clock::time_point::max();
  const Frame notice = failure(code, why);
  for (const Seat& seat : seats_)
    if (seat.guest) seat.guest->send(notice);
}

}  // namespace sparsecoll::rendezvous
