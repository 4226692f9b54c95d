// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_PUSH_SUM_HPP_
#define SPARSECOLL_CXX_PUSH_SUM_HPP_

/// @file
/// @brief Push-sum over one tensor. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/communicator.hpp>

namespace sparsecoll {
inline namespace cxx {

/// Owns one rank's end of push-sum over a tensor of T. sparsecoll.h has the meaning of each
/// function.
///
/// The communicator may end first: it frees the state, whose functions throw from then on. The
/// destructor never throws and does nothing then; else what is under way to this rank is lost.
template <class T>
class PushSum {
 public:
  /// None.
  PushSum() noexcept = default;
  /// Step 0, weight 1. Collective.
  /// @param comm   that will use and own it.
  /// @param count  n.
  /// @param config defaults if there is none.
  PushSum(const Communicator& comm, std::size_t count, const PushSumConfig& config = {})
      : comm_(comm.get()), count_(count) {
    check(sparsecollPushSumCreate(&handle_, count, DatatypeOf<T>::value, &config, comm_),
          "sparsecollPushSumCreate");
  }
  /// Leaves none. @param other not used by a call at this time.
  PushSum(PushSum&& other) noexcept { swap(other); }
  /// Frees the one that was here. @param other leaves none there.
  PushSum& operator=(PushSum&& other) noexcept {
    PushSum(std::move(other)).swap(*this);
    return *this;
  }
  PushSum(const PushSum&) = delete;
  PushSum& operator=(const PushSum&) = delete;
  ~PushSum() {
    if (handle_ != nullptr) sparsecollPushSumDestroy(handle_);
  }

  /// Exchanges two.
  void swap(PushSum& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(comm_, other.comm_);
    std::swap(count_, other.count_);
  }

  /// How many values the tensor has.
  std::size_t count() const noexcept { return count_; }

  /// One iteration: ::pushSumStep(). Arguments of a wrong size are refused on this rank only; peers
  /// wait for the corrected call.
  /// @param x the numerator, count() values, in and out.
  void step(Span<T> x) { step(x, nullptr); }
  /// The same, and what x / w has become.
  /// @param x        the numerator, count() values, in and out.
  /// @param estimate count() values apart from x.
  void step(Span<T> x, Span<T> estimate) {
    check_size("estimate", estimate.size());
    step(x, estimate.data());
  }

  /// Adds everything that is under way. Collective: ::sparsecollPushSumDrain()
  /// @param x the numerator, count() values, in and out.
  void drain(Span<T> x) { drain(x, nullptr, {}); }
  /// The same, and what x / w has become.
  /// @param x        the numerator, count() values, in and out.
  /// @param estimate count() values apart from x.
  void drain(Span<T> x, Span<T> estimate) {
    drain(x, estimate.data(), detail::expect_size("estimate", count_, estimate.size()));
  }

  /// This rank's w.
  double weight() const {
    double weight = 0;
    check(sparsecollPushSumWeight(handle_, &weight), "sparsecollPushSumWeight");
    return weight;
  }

  /// Writes everything but x to a file. Local: ::sparsecollPushSumSave()
  /// @param path of this rank's own file.
  void save(const std::string& path) const {
    check(sparsecollPushSumSave(handle_, path.c_str()), "sparsecollPushSumSave");
  }
  /// Continues where save() was called. Local: ::sparsecollPushSumLoad()
  /// @param path of this rank's own file.
  void load(const std::string& path) {
    check(sparsecollPushSumLoad(handle_, path.c_str()), "sparsecollPushSumLoad");
  }
  /// Frees it now.
  void destroy() { check(sparsecollPushSumDestroy(release()), "sparsecollPushSumDestroy"); }

  /// The handle, for the C API; nullptr: none.
  sparsecollPushSum_t get() const noexcept { return handle_; }
  /// Gives the handle up: the caller destroys it.
  sparsecollPushSum_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// True when there is one.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  void check(sparsecollResult_t result, const char* function) const {
    detail::check(result, function, comm_);
  }
  void check_size(const char* what, std::size_t size) const {
    const std::string problem = detail::expect_size(what, count_, size);
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "pushSumStep: " + problem);
  }

  void step(Span<T> x, T* estimate) {
    check_size("x", x.size());
    check(::pushSumStep(x.data(), estimate, count_, DatatypeOf<T>::value, handle_, comm_, nullptr),
          "pushSumStep");
  }

  /// What does not fit is given to the library as NULL, which makes all ranks know.
  void drain(Span<T> x, T* estimate, std::string problem) {
    if (problem.empty()) problem = detail::expect_size("x", count_, x.size());
    const sparsecollResult_t result =
        sparsecollPushSumDrain(handle_, problem.empty() ? x.data() : nullptr, estimate, nullptr);
    if (!problem.empty() && (result == sparsecollSuccess || result == sparsecollInvalidArgument))
      throw Error(sparsecollInvalidArgument, "sparsecollPushSumDrain: " + problem);
    check(result, "sparsecollPushSumDrain");
  }

  sparsecollPushSum_t handle_ = nullptr;
  sparsecollComm_t comm_ = nullptr;  ///< for its messages
  std::size_t count_ = 0;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_PUSH_SUM_HPP_
