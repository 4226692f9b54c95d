// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_RESIDUAL_HPP_
#define SPARSECOLL_CXX_RESIDUAL_HPP_

/// @file
/// @brief Error feedback of one tensor. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/communicator.hpp>

namespace sparsecoll {
inline namespace cxx {

/// Owns the residual of one tensor of T on one rank. Its values are of type Accumulation<T>.
///
/// The communicator may end first: it frees the residual, whose functions throw from then on. The
/// destructor never throws and does nothing then.
template <class T>
class Residual {
 public:
  /// The type of the values.
  using Value = Accumulation<T>;

  /// None.
  Residual() noexcept = default;
  /// Zeros. Local.
  /// @param comm  that will use and own it.
  /// @param count values.
  Residual(const Communicator& comm, std::size_t count) : comm_(comm.get()), count_(count) {
    check(sparsecollResidualCreate(&handle_, count, DatatypeOf<T>::value, comm_),
          "sparsecollResidualCreate");
  }
  /// Leaves none. @param other not used by a call at this time.
  Residual(Residual&& other) noexcept { swap(other); }
  /// Frees the one that was here. @param other leaves none there.
  Residual& operator=(Residual&& other) noexcept {
    Residual(std::move(other)).swap(*this);
    return *this;
  }
  Residual(const Residual&) = delete;
  Residual& operator=(const Residual&) = delete;
  ~Residual() {
    if (handle_ != nullptr) sparsecollResidualDestroy(handle_);
  }

  /// Exchanges two.
  void swap(Residual& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(comm_, other.comm_);
    std::swap(count_, other.count_);
  }

  /// How many values it has.
  std::size_t count() const noexcept { return count_; }

  /// A copy of the values; NaNs come out canonical.
  std::vector<Value> read() const {
    std::vector<Value> values(count_);
    read(values);
    return values;
  }
  /// The same into memory that is there. @param out count() values.
  void read(Span<Value> out) const {
    check_size("dst", out.size());
    check(sparsecollResidualRead(handle_, out.data()), "sparsecollResidualRead");
  }
  /// Replaces the values. @param values count() of them.
  void write(Span<const Value> values) {
    check_size("src", values.size());
    check(sparsecollResidualWrite(handle_, values.data()), "sparsecollResidualWrite");
  }
  /// Multiplies the values. @param factor 0 resets them, whatever they were.
  void scale(double factor) {
    check(sparsecollResidualScale(handle_, factor), "sparsecollResidualScale");
  }
  /// Where the values are, until the next call that uses the residual.
  Span<Value> pointer() {
    void* address = nullptr;
    check(sparsecollResidualPointer(handle_, &address), "sparsecollResidualPointer");
    return {static_cast<Value*>(address), count_};
  }
  /// Writes it to a file, with what the communicator has learnt. Local: ::sparsecollResidualSave()
  /// @param path of this rank's own file.
  void save(const std::string& path) const {
    check(sparsecollResidualSave(handle_, path.c_str()), "sparsecollResidualSave");
  }
  /// Brings back what save() wrote. Local, but for all ranks: ::sparsecollResidualLoad()
  /// @param path of this rank's own file.
  void load(const std::string& path) {
    check(sparsecollResidualLoad(handle_, path.c_str()), "sparsecollResidualLoad");
  }
  /// Frees it now.
  void destroy() { check(sparsecollResidualDestroy(release()), "sparsecollResidualDestroy"); }

  /// The handle, for the C API; nullptr: none.
  sparsecollResidual_t get() const noexcept { return handle_; }
  /// Gives the handle up: the caller destroys it.
  sparsecollResidual_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// True when there is one.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  void check(sparsecollResult_t result, const char* function) const {
    detail::check(result, function, comm_);
  }
  void check_size(const char* what, std::size_t size) const {
    const std::string problem = detail::expect_size(what, count_, size);
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "Residual: " + problem);
  }

  sparsecollResidual_t handle_ = nullptr;
  sparsecollComm_t comm_ = nullptr;  ///< for its messages
  std::size_t count_ = 0;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_RESIDUAL_HPP_
