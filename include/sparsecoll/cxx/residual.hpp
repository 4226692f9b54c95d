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
/// The communicator may be destroyed first. It then frees the residual; afterwards all functions of
/// this object throw, and its destructor does nothing. The destructor never throws.
template <class T>
class Residual {
 public:
  /// The type of the values.
  using Value = Accumulation<T>;

  /// Makes an object without a residual.
  Residual() noexcept = default;
  /// Makes a residual of zeros. Local.
  /// @param comm  the communicator that uses and owns the residual.
  /// @param count number of values.
  Residual(const Communicator& comm, std::size_t count) : comm_(comm.get()), count_(count) {
    check(sparsecollResidualCreate(&handle_, count, DatatypeOf<T>::value, comm_),
          "sparsecollResidualCreate");
  }
  /// Takes the residual of `other`. @param other must not be in a call.
  Residual(Residual&& other) noexcept { swap(other); }
  /// Frees the residual of this object, then takes that of `other`. @param other must not be in a
  /// call.
  Residual& operator=(Residual&& other) noexcept {
    Residual(std::move(other)).swap(*this);
    return *this;
  }
  Residual(const Residual&) = delete;
  Residual& operator=(const Residual&) = delete;
  ~Residual() {
    if (handle_ != nullptr) sparsecollResidualDestroy(handle_);
  }

  /// Exchanges the residuals of two objects.
  void swap(Residual& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(comm_, other.comm_);
    std::swap(count_, other.count_);
  }

  /// Returns the number of values.
  std::size_t count() const noexcept { return count_; }

  /// Returns a copy of the values. NaNs become canonical.
  std::vector<Value> read() const {
    std::vector<Value> values(count_);
    read(values);
    return values;
  }
  /// Copies the values to `out`. NaNs become canonical. @param out count() values.
  void read(Span<Value> out) const {
    check_size("dst", out.size());
    check(sparsecollResidualRead(handle_, out.data()), "sparsecollResidualRead");
  }
  /// Replaces the values. @param values count() of them.
  void write(Span<const Value> values) {
    check_size("src", values.size());
    check(sparsecollResidualWrite(handle_, values.data()), "sparsecollResidualWrite");
  }
  /// Multiplies the values by `factor`. @param factor 0 makes all values 0, including NaN and
  /// infinity.
  void scale(double factor) {
    check(sparsecollResidualScale(handle_, factor), "sparsecollResidualScale");
  }
  /// Returns a view of the values, valid until the next call that uses the residual.
  Span<Value> pointer() {
    void* address = nullptr;
    check(sparsecollResidualPointer(handle_, &address), "sparsecollResidualPointer");
    return {static_cast<Value*>(address), count_};
  }
  /// Writes the residual to a file, with the thresholds and regions that the communicator has
  /// learnt. Local, see ::sparsecollResidualSave().
  /// @param path this rank's own file.
  void save(const std::string& path) const {
    check(sparsecollResidualSave(handle_, path.c_str()), "sparsecollResidualSave");
  }
  /// Restores what save() wrote. Local, but all ranks must call it, see ::sparsecollResidualLoad().
  /// @param path this rank's own file.
  void load(const std::string& path) {
    check(sparsecollResidualLoad(handle_, path.c_str()), "sparsecollResidualLoad");
  }
  /// Returns the bytes that save() would write to a file. Local.
  std::vector<std::byte> saveTo() const {
    std::size_t size = 0;
    check(sparsecollResidualSaveTo(handle_, nullptr, &size), "sparsecollResidualSaveTo");
    std::vector<std::byte> bytes(size);
    check(sparsecollResidualSaveTo(handle_, bytes.data(), &size), "sparsecollResidualSaveTo");
    return bytes;
  }
  /// Restores the residual from the bytes of saveTo(), or of a file of save(). Local, see
  /// ::sparsecollResidualLoadFrom().
  /// @param bytes all of them.
  void loadFrom(Span<const std::byte> bytes) {
    check(sparsecollResidualLoadFrom(handle_, bytes.data(), bytes.size()),
          "sparsecollResidualLoadFrom");
  }
  /// Moves the residual to a communicator that shrink() made of the residual's own. The values are
  /// those after the last call that all new ranks have committed. See ::sparsecollResidualMove().
  /// @param newcomm a Communicator, which outlives the object.
  template <class Comm>
  void move(const Comm& newcomm) {
    const sparsecollComm_t to = newcomm.get();
    detail::check(sparsecollResidualMove(handle_, to), "sparsecollResidualMove", to);
    comm_ = to;
  }
  /// Frees the residual.
  void destroy() { check(sparsecollResidualDestroy(release()), "sparsecollResidualDestroy"); }

  /// Returns the handle for the C API; nullptr: none.
  sparsecollResidual_t get() const noexcept { return handle_; }
  /// Returns the handle and gives up its ownership: the caller destroys it.
  sparsecollResidual_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// Returns true if the object owns a residual.
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
  sparsecollComm_t comm_ = nullptr;  ///< holds the error messages; not owned
  std::size_t count_ = 0;
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_RESIDUAL_HPP_
