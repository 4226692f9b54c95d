// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_COMMUNICATOR_HPP_
#define SPARSECOLL_CXX_COMMUNICATOR_HPP_

/// @file
/// @brief One rank's end of a communicator. Included by sparsecoll.hpp.

#include <exception>
#include <sparsecoll/cxx/verbs.hpp>

namespace sparsecoll {
inline namespace cxx {

/// Owns a communicator. Its functions are those of the C API, and so are their names, without
/// prefixes; sparsecoll.h has the meaning of each. What the C API returns as a result is thrown as
/// an Error. One thread at a time, but for abort() and asyncError().
///
/// The destructor never throws. It destroys the communicator as destroy() does, over MPI and NCCL
/// together with the other ranks. While an exception is on its way out, when the others may not
/// come, and where destroying is refused it aborts first: nobody waits then, and the peers get an
/// error. What cannot be freed even so is lost, as sparsecollCommDestroy() says.
class Communicator : public Verbs<Communicator> {
 public:
  /// None.
  Communicator() noexcept = default;
  /// Takes over what the C API made. @param handle of this rank.
  explicit Communicator(sparsecollComm_t handle) noexcept : handle_(handle) {}
  /// Leaves none. @param other not used by a call at this time.
  Communicator(Communicator&& other) noexcept : handle_(other.release()) {}
  /// Ends the one that was here as the destructor does. @param other leaves none there.
  Communicator& operator=(Communicator&& other) noexcept {
    if (this != &other) {
      end();
      handle_ = other.release();
    }
    return *this;
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() { end(); }

  /// Communicators whose ranks are threads of this process: thread r uses element r.
  /// @param ranks  P, at least 1.
  /// @param config defaults if there is none.
  static std::vector<Communicator> initAll(int ranks, const Config& config = {}) {
    std::vector<sparsecollComm_t> handles(ranks > 0 ? static_cast<std::size_t>(ranks) : 1);
    std::vector<Communicator> communicators;
    communicators.reserve(handles.size());
    detail::check(sparsecollCommInitAll(handles.data(), ranks, nullptr, &config),
                  "sparsecollCommInitAll", nullptr);
    for (const sparsecollComm_t handle : handles) communicators.emplace_back(handle);
    return communicators;
  }

  /// A communicator over the ranks of `nccl`, for buffers on its device. Collective.
  /// @param nccl   stays the caller's.
  /// @param config defaults if there is none.
  static Communicator initNccl(::ncclComm* nccl, const Config& config = {}) {
    sparsecollComm_t made = nullptr;
    detail::check(sparsecollCommInitNccl(&made, nccl, &config), "sparsecollCommInitNccl", nullptr);
    return Communicator(made);
  }

  /// Communicators of the ranks with the same color. Collective.
  /// @param color  0 or more, or SPARSECOLL_SPLIT_NOCOLOR, which gives none.
  /// @param key    orders the new ranks.
  /// @param config nullptr: that of this one.
  Communicator split(int color, int key, const Config* config = nullptr) {
    sparsecollComm_t made = nullptr;
    check(sparsecollCommSplit(handle_, color, key, &made, config), "sparsecollCommSplit");
    return Communicator(made);
  }

  /// This rank's number, 0 to size() - 1.
  int rank() const {
    int rank = 0;
    check(sparsecollCommRank(handle_, &rank), "sparsecollCommRank");
    return rank;
  }
  /// P.
  int size() const {
    int size = 0;
    check(sparsecollCommCount(handle_, &size), "sparsecollCommCount");
    return size;
  }
  /// The number of the last collective call that was made, or queued, for wait().
  std::uint64_t sequence() const {
    std::uint64_t sequence = 0;
    check(sparsecollCommGetSequence(handle_, &sequence), "sparsecollCommGetSequence");
    return sequence;
  }
  /// What this rank's verbs did. @param which sparsecollStatsLast or sparsecollStatsTotal.
  sparsecollStats_t stats(int which = sparsecollStatsLast) const {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    check(sparsecollCommGetStats(handle_, which, &stats), "sparsecollCommGetStats");
    return stats;
  }
  /// The error that poisoned it, sparsecollInProgress while queued calls are not done, or success.
  sparsecollResult_t asyncError() const {
    sparsecollResult_t result = sparsecollSuccess;
    check(sparsecollCommGetAsyncError(handle_, &result), "sparsecollCommGetAsyncError");
    return result;
  }
  /// The last error in words; "" if there was none.
  std::string lastError() const { return sparsecollGetLastError(handle_); }

  /// Waits for every queued call; throws the first error among them that was not thrown before,
  /// Truncated included: fetch() is for that.
  void synchronize() { check(sparsecollCommSynchronize(handle_), "sparsecollCommSynchronize"); }
  /// The same up to one call. @param sequence as sequence() gave it behind that call.
  void wait(std::uint64_t sequence) {
    check(sparsecollCommWait(handle_, sequence), "sparsecollCommWait");
  }
  /// Orders a stream of the device after the device work of every call so far. With `blocking` = 0
  /// it is the way to results in device memory; does nothing where no call had device buffers.
  /// @param stream a cudaStream_t; nullptr: the legacy default stream.
  void streamWait(sparsecollStream_t stream) {
    check(sparsecollCommStreamWait(handle_, stream), "sparsecollCommStreamWait");
  }
  /// Ends whatever this rank is doing, from any thread. What is there must still be destroyed.
  void abort() { check(sparsecollCommAbort(handle_), "sparsecollCommAbort"); }
  /// Frees it, with its residuals and other state. When nothing was freed (sparsecollInvalidUsage)
  /// it is still there after the Error.
  void destroy() {
    const sparsecollResult_t result = sparsecollCommDestroy(handle_);
    if (result == sparsecollInvalidUsage) check(result, "sparsecollCommDestroy");
    handle_ = nullptr;
    if (result != sparsecollSuccess) throw Error(result, sparsecollGetErrorString(result));
  }

  /// acc = dense + residual; out = the k largest; the residual keeps the rest. Local.
  /// ::sparsecollTopk()
  /// @param dense    n values.
  /// @param k        entries kept.
  /// @param out      grows as needed.
  /// @param residual that of this tensor, or nullptr.
  template <class Dense, class T, class Index>
  void topk(const Dense& dense, std::size_t k, SparseVector<T, Index>& out,
            Residual<Element<const Dense>>* residual = nullptr) {
    static_assert(std::is_same_v<Element<const Dense>, T>, "dense and out are of one type");
    const std::size_t count = std::size(dense);
    out.reserve(k < count ? k : count);
    check(sparsecollTopk(std::data(dense), count, k, DatatypeOf<T>::value,
                         detail::handle_of(residual), out.get(), handle_, nullptr),
          "sparsecollTopk");
  }

  /// Zero-fills `dense`, then writes the entries of `in`. Local. ::sparsecollScatter()
  /// @param in    a sparse vector.
  /// @param dense in.count() values.
  template <class T, class Index, class Dense>
  void scatter(const SparseVector<T, Index>& in, Dense&& dense) {
    static_assert(std::is_same_v<Element<Dense>, T>, "in and dense are of one type");
    const std::string problem = detail::expect_size("dense", in.count(), std::size(dense));
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "sparsecollScatter: " + problem);
    check(sparsecollScatter(in.get(), std::data(dense), handle_, nullptr), "sparsecollScatter");
  }

  /// Gets the result of the call that was Truncated, making room for it; nothing where `recv` was
  /// not too small. Local. ::sparsecollFetch()
  /// @param recv       the output of that call.
  /// @param recvcounts as in sparseAlltoall(); else empty.
  template <class T, class Index>
  void fetch(SparseVector<T, Index>& recv, Span<std::size_t> recvcounts = {}) {
    check(fetch_into(recv, recvcounts)(handle_), "sparsecollFetch");
  }

  /// The handle, for the C API; nullptr: none.
  sparsecollComm_t get() const noexcept { return handle_; }
  /// Gives the handle up: the caller destroys it.
  sparsecollComm_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// True when there is one.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  friend class Verbs<Communicator>;

  void check(sparsecollResult_t result, const char* function) const {
    detail::check(result, function, handle_);
  }

  /// A verb, at once or queued.
  template <class Call, class Fetch>
  void submit(const char* name, const Call& call, const Fetch& fetch) {
    const sparsecollResult_t result = call(handle_);
    if (result != sparsecollTruncated)
      check(result, name);
    else
      check(fetch(handle_), "sparsecollFetch");
  }

  void end() noexcept {
    if (handle_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) sparsecollCommAbort(handle_);
    if (sparsecollCommDestroy(handle_) == sparsecollInvalidUsage) {
      sparsecollCommAbort(handle_);
      sparsecollCommDestroy(handle_);
    }
    handle_ = nullptr;
  }

  sparsecollComm_t handle_ = nullptr;
  int exceptions_ = std::uncaught_exceptions();  ///< those that were on their way already
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_COMMUNICATOR_HPP_
