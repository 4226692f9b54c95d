// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_PUSH_SUM_HPP_
#define SPARSECOLL_CXX_PUSH_SUM_HPP_

/// @file
/// @brief Push-sum over one tensor. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/communicator.hpp>

namespace sparsecoll {
inline namespace cxx {

/// Owns the push-sum state of a tensor of T on one rank. sparsecoll.h documents each function.
///
/// The communicator may be destroyed first. It then frees the state; afterwards all functions of
/// this object throw, and its destructor does nothing. Otherwise the destructor frees the state,
/// and messages in flight to this rank are lost. The destructor never throws.
template <class T>
class PushSum {
 public:
  /// Makes an object without a state.
  PushSum() noexcept = default;
  /// Makes a state at step 0 with weight 1. Collective.
  /// @param comm   the communicator that uses and owns the state.
  /// @param count  n, the number of values of the tensor.
  /// @param config the configuration; without it, the defaults.
  PushSum(const Communicator& comm, std::size_t count, const PushSumConfig& config = {})
      : comm_(comm.get()), count_(count) {
    check(sparsecollPushSumCreate(&handle_, count, DatatypeOf<T>::value, &config, comm_),
          "sparsecollPushSumCreate");
  }
  /// Takes the state of `other`. @param other must not be in a call.
  PushSum(PushSum&& other) noexcept { swap(other); }
  /// Frees the state of this object, then takes that of `other`. @param other must not be in a
  /// call.
  PushSum& operator=(PushSum&& other) noexcept {
    PushSum(std::move(other)).swap(*this);
    return *this;
  }
  PushSum(const PushSum&) = delete;
  PushSum& operator=(const PushSum&) = delete;
  ~PushSum() {
    if (handle_ != nullptr) sparsecollPushSumDestroy(handle_);
  }

  /// Exchanges the states of two objects.
  void swap(PushSum& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(comm_, other.comm_);
    std::swap(count_, other.count_);
  }

  /// Returns the number of values of the tensor.
  std::size_t count() const noexcept { return count_; }

  /// Makes one step, see ::pushSumStep(). For an argument of the wrong size only this rank gets an
  /// Error; its peers wait for the corrected call.
  /// @param x      the numerator, count() values, in and out.
  /// @param stream the stream of buffers on a device.
  void step(Span<T> x, sparsecollStream_t stream = nullptr) { make_step(x, nullptr, stream); }
  /// Makes one step and writes the estimate x / w.
  /// @param x        the numerator, count() values, in and out.
  /// @param estimate out: count() values that do not overlap x.
  /// @param stream   the stream of buffers on a device.
  void step(Span<T> x, Span<T> estimate, sparsecollStream_t stream = nullptr) {
    check_size("estimate", estimate.size());
    make_step(x, estimate.data(), stream);
  }

  /// Adds all messages in flight to x and w. Collective, see ::sparsecollPushSumDrain().
  /// @param x      the numerator, count() values, in and out.
  /// @param stream the stream of buffers on a device.
  void drain(Span<T> x, sparsecollStream_t stream = nullptr) { make_drain(x, nullptr, {}, stream); }
  /// Adds all messages in flight to x and w, and writes the estimate x / w. Collective.
  /// @param x        the numerator, count() values, in and out.
  /// @param estimate out: count() values that do not overlap x.
  /// @param stream   the stream of buffers on a device.
  void drain(Span<T> x, Span<T> estimate, sparsecollStream_t stream = nullptr) {
    make_drain(x, estimate.data(), detail::expect_size("estimate", count_, estimate.size()),
               stream);
  }

  /// Returns this rank's weight w.
  double weight() const {
    double weight = 0;
    check(sparsecollPushSumWeight(handle_, &weight), "sparsecollPushSumWeight");
    return weight;
  }

  /// Writes the state, without x, to a file. Local, see ::sparsecollPushSumSave().
  /// @param path this rank's own file.
  void save(const std::string& path) const {
    check(sparsecollPushSumSave(handle_, path.c_str()), "sparsecollPushSumSave");
  }
  /// Restores the state that save() wrote. Local, see ::sparsecollPushSumLoad().
  /// @param path this rank's own file.
  void load(const std::string& path) {
    check(sparsecollPushSumLoad(handle_, path.c_str()), "sparsecollPushSumLoad");
  }
  /// Returns the bytes that save() would write to a file. Local.
  std::vector<std::byte> saveTo() const {
    std::size_t size = 0;
    check(sparsecollPushSumSaveTo(handle_, nullptr, &size), "sparsecollPushSumSaveTo");
    std::vector<std::byte> bytes(size);
    check(sparsecollPushSumSaveTo(handle_, bytes.data(), &size), "sparsecollPushSumSaveTo");
    return bytes;
  }
  /// Restores the state from the bytes of saveTo(), or of a file of save(). Local, see
  /// ::sparsecollPushSumLoadFrom().
  /// @param bytes all of them.
  void loadFrom(Span<const std::byte> bytes) {
    check(sparsecollPushSumLoadFrom(handle_, bytes.data(), bytes.size()),
          "sparsecollPushSumLoadFrom");
  }
  /// Moves the state to a communicator that shrink() made of the state's own; x and the estimate
  /// stay. Collective over the new one, see ::sparsecollPushSumMove().
  /// @param newcomm a Communicator, which outlives the object.
  template <class Comm>
  void move(const Comm& newcomm) {
    const sparsecollComm_t to = newcomm.get();
    detail::check(sparsecollPushSumMove(handle_, to), "sparsecollPushSumMove", to);
    comm_ = to;
  }
  /// Frees the state.
  void destroy() { check(sparsecollPushSumDestroy(release()), "sparsecollPushSumDestroy"); }

  /// Returns the handle for the C API; nullptr: none.
  sparsecollPushSum_t get() const noexcept { return handle_; }
  /// Returns the handle and gives up its ownership: the caller destroys it.
  sparsecollPushSum_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// Returns true if the object owns a state.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  void check(sparsecollResult_t result, const char* function) const {
    detail::check(result, function, comm_);
  }
  void check_size(const char* what, std::size_t size) const {
    const std::string problem = detail::expect_size(what, count_, size);
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "pushSumStep: " + problem);
  }

  void make_step(Span<T> x, T* estimate, sparsecollStream_t stream) {
    check_size("x", x.size());
    check(::pushSumStep(x.data(), estimate, count_, DatatypeOf<T>::value, handle_, comm_, stream),
          "pushSumStep");
  }

  /// Drains. If an argument has the wrong size, passes NULL as x, so that the library reports the
  /// error on all ranks.
  void make_drain(Span<T> x, T* estimate, std::string problem, sparsecollStream_t stream) {
    if (problem.empty()) problem = detail::expect_size("x", count_, x.size());
    const sparsecollResult_t result =
        sparsecollPushSumDrain(handle_, problem.empty() ? x.data() : nullptr, estimate, stream);
    if (!problem.empty() && (result == sparsecollSuccess || result == sparsecollInvalidArgument))
      throw Error(sparsecollInvalidArgument, "sparsecollPushSumDrain: " + problem);
    check(result, "sparsecollPushSumDrain");
  }

  sparsecollPushSum_t handle_ = nullptr;
  sparsecollComm_t comm_ = nullptr;  ///< holds the error messages; not owned
  std::size_t count_ = 0;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_PUSH_SUM_HPP_
