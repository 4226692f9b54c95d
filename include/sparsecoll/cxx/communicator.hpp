// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_COMMUNICATOR_HPP_
#define SPARSECOLL_CXX_COMMUNICATOR_HPP_

/// @file
/// @brief The class that owns one rank's communicator. Included by sparsecoll.hpp.

#include <algorithm>
#include <exception>
#include <future>
#include <memory>
#include <sparsecoll/cxx/verbs.hpp>
#include <string>
#include <vector>

namespace sparsecoll {
inline namespace cxx {

/// A communicator, owned. Its functions have the names of the C API without prefixes, and
/// sparsecoll.h documents them. Every result of the C API except success is thrown as an Error.
/// Only one thread at a time may use a communicator, except for wait(), notify(), future(), abort()
/// and the queries.
///
/// The destructor never throws. It destroys the communicator as destroy() does; over MPI and NCCL
/// this is collective. It aborts first in two cases: while an exception unwinds the stack, because
/// the other ranks may never destroy theirs, and when the library refuses to destroy the
/// communicator. After an abort no rank waits, and the peers get an error. Memory that cannot be
/// freed even then is leaked, see sparsecollCommDestroy().
class Communicator : public Verbs<Communicator> {
 public:
  /// Makes an object without a communicator.
  Communicator() noexcept = default;
  /// Takes ownership of a handle of the C API. @param handle this rank's communicator.
  explicit Communicator(sparsecollComm_t handle) noexcept : handle_(handle) {}
  /// Takes the communicator of `other`. @param other must not be in a call.
  Communicator(Communicator&& other) noexcept : handle_(other.release()) {}
  /// Ends the communicator of this object as the destructor does, then takes that of `other`.
  /// @param other must not be in a call.
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

  /// Makes communicators whose ranks are threads of this process: thread r uses element r.
  /// @param ranks  P, at least 1.
  /// @param config the configuration; without it, the defaults.
  static std::vector<Communicator> initAll(int ranks, const Config& config = {}) {
    std::vector<sparsecollComm_t> handles(ranks > 0 ? static_cast<std::size_t>(ranks) : 1);
    std::vector<Communicator> communicators;
    communicators.reserve(handles.size());
    detail::check(sparsecollCommInitAll(handles.data(), ranks, nullptr, &config),
                  "sparsecollCommInitAll", nullptr);
    for (const sparsecollComm_t handle : handles) communicators.emplace_back(handle);
    return communicators;
  }

  /// Returns the id of a communicator that is to be made. One process calls it and brings the id to
  /// all ranks.
  static sparsecollUniqueId uniqueId() {
    sparsecollUniqueId id{};
    detail::check(sparsecollGetUniqueId(&id), "sparsecollGetUniqueId", nullptr);
    return id;
  }
  /// Makes a communicator of the ranks that pass the same id. Collective; needs no launcher.
  /// @param ranks  P, at least 1.
  /// @param id     what uniqueId() returned in one process.
  /// @param rank   the number of this rank.
  /// @param config the configuration; without it, the defaults.
  static Communicator initRank(int ranks, const sparsecollUniqueId& id, int rank,
                               const Config& config = {}) {
    sparsecollComm_t made = nullptr;
    detail::check(sparsecollCommInitRank(&made, ranks, id, rank, &config), "sparsecollCommInitRank",
                  nullptr);
    return Communicator(made);
  }
  /// Does the same for programs with a store of their own. Collective.
  /// @param ranks     P, at least 1.
  /// @param rank      the number of this rank.
  /// @param allgather called as allgather(const void* mine, void* all, std::size_t bytes): fills
  ///                  `all` with the bytes of all ranks, by rank. An exception that it throws is
  ///                  rethrown; then the other ranks wait until their deadlines.
  /// @param config    the configuration; without it, the defaults.
  template <class Allgather>
  static Communicator initOob(int ranks, int rank, Allgather allgather, const Config& config = {}) {
    struct Call {
      Allgather& allgather;
      std::exception_ptr thrown;
    } call{allgather, nullptr};
    const sparsecollAllgather_t gather = [](void* user, const void* mine, void* all,
                                            std::size_t bytes) -> int {
      Call& own = *static_cast<Call*>(user);
      try {
        own.allgather(mine, all, bytes);
        return 0;
      } catch (...) {
        own.thrown = std::current_exception();
        return 1;
      }
    };
    sparsecollComm_t made = nullptr;
    const sparsecollResult_t result =
        sparsecollCommInitOob(&made, ranks, rank, gather, &call, &config);
    if (call.thrown) std::rethrow_exception(call.thrown);
    detail::check(result, "sparsecollCommInitOob", nullptr);
    return Communicator(made);
  }
  /// Makes a communicator over one of MPI in its Fortran form. Collective. sparsecoll_mpi.hpp has
  /// initMpi(), which takes an MPI_Comm.
  /// @param fortranComm what MPI_Comm_c2f() returns.
  /// @param config      the configuration; without it, the defaults.
  static Communicator initMpiFint(int fortranComm, const Config& config = {}) {
    sparsecollComm_t made = nullptr;
    detail::check(sparsecollCommInitMpiFint(&made, fortranComm, &config),
                  "sparsecollCommInitMpiFint", nullptr);
    return Communicator(made);
  }

  /// Makes a communicator over the ranks of `nccl`, for buffers on its device. Collective.
  /// @param nccl   an idle NCCL communicator; the caller keeps it.
  /// @param config the configuration; without it, the defaults.
  static Communicator initNccl(::ncclComm* nccl, const Config& config = {}) {
    sparsecollComm_t made = nullptr;
    detail::check(sparsecollCommInitNccl(&made, nccl, &config), "sparsecollCommInitNccl", nullptr);
    return Communicator(made);
  }

  /// Makes a communicator of the ranks with the same color. Collective.
  /// @param color  0 or more, or SPARSECOLL_SPLIT_NOCOLOR for an object without a communicator.
  /// @param key    orders the new ranks.
  /// @param config the configuration; nullptr: that of this communicator.
  Communicator split(int color, int key, const Config* config = nullptr) {
    sparsecollComm_t made = nullptr;
    check(sparsecollCommSplit(handle_, color, key, &made, config), "sparsecollCommSplit");
    return Communicator(made);
  }

  /// Returns the ranks that are known to be gone. See ::sparsecollCommGetFailed().
  std::vector<int> failed() const {
    int count = 0;
    check(sparsecollCommGetFailed(handle_, nullptr, &count), "sparsecollCommGetFailed");
    std::vector<int> ranks(static_cast<std::size_t>(count));
    check(sparsecollCommGetFailed(handle_, ranks.data(), &count), "sparsecollCommGetFailed");
    ranks.resize(std::min(ranks.size(), static_cast<std::size_t>(count)));
    return ranks;
  }
  /// Makes a communicator of the ranks that remain when others are gone, also after a fatal error.
  /// Collective over them. See ::sparsecollCommShrink().
  /// @param config the configuration; nullptr: that of this communicator.
  Communicator shrink(const Config* config = nullptr) {
    sparsecollComm_t made = nullptr;
    check(sparsecollCommShrink(handle_, nullptr, 0, &made, config), "sparsecollCommShrink");
    return Communicator(made);
  }
  /// Does the same without these ranks, which all others pass alike.
  Communicator shrink(const std::vector<int>& exclude, const Config* config = nullptr) {
    sparsecollComm_t made = nullptr;
    const int none = 0;
    check(sparsecollCommShrink(handle_, exclude.empty() ? &none : exclude.data(),
                               static_cast<int>(exclude.size()), &made, config),
          "sparsecollCommShrink");
    return Communicator(made);
  }

  /// Returns this rank's number, 0 to size() - 1.
  int rank() const {
    int rank = 0;
    check(sparsecollCommRank(handle_, &rank), "sparsecollCommRank");
    return rank;
  }
  /// Returns the number of ranks, P.
  int size() const {
    int size = 0;
    check(sparsecollCommCount(handle_, &size), "sparsecollCommCount");
    return size;
  }
  /// Returns the number of the last collective call that was made or queued; wait() takes it.
  std::uint64_t sequence() const {
    std::uint64_t sequence = 0;
    check(sparsecollCommGetSequence(handle_, &sequence), "sparsecollCommGetSequence");
    return sequence;
  }
  /// Returns statistics of this rank's verbs. @param which sparsecollStatsLast or
  /// sparsecollStatsTotal.
  sparsecollStats_t stats(int which = sparsecollStatsLast) const {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    check(sparsecollCommGetStats(handle_, which, &stats), "sparsecollCommGetStats");
    return stats;
  }
  /// Returns where this rank is, and the groups of ranks on each level. Call it on all ranks the
  /// first time.
  sparsecollTopology_t topology() const {
    sparsecollTopology_t topology = SPARSECOLL_TOPOLOGY_INITIALIZER;
    check(sparsecollCommGetTopology(handle_, &topology), "sparsecollCommGetTopology");
    return topology;
  }
  /// Measures the network between the ranks, from which Auto predicts costs. Collective, see
  /// ::sparsecollCommMeasure().
  void measure() { check(sparsecollCommMeasure(handle_), "sparsecollCommMeasure"); }
  /// Returns the error that poisoned the communicator, sparsecollInProgress while queued calls are
  /// not done, or success.
  sparsecollResult_t asyncError() const {
    sparsecollResult_t result = sparsecollSuccess;
    check(sparsecollCommGetAsyncError(handle_, &result), "sparsecollCommGetAsyncError");
    return result;
  }
  /// Writes what this rank's last calls did, and for which ranks they waited, to a file. Any thread
  /// may call it at any time. See ::sparsecollCommDump().
  /// @param path the file; "": the one that SPARSECOLL_FLIGHT_RECORDER names.
  void dump(const std::string& path = "") const {
    check(sparsecollCommDump(handle_, path.empty() ? nullptr : path.c_str()), "sparsecollCommDump");
  }
  /// Returns the message of the last error; "" if there was none.
  std::string lastError() const { return sparsecollGetLastError(handle_); }

  /// Waits for every queued call. Throws the first error of these calls that was not thrown before.
  /// After Truncated, fetch() gets the result.
  void synchronize() { check(sparsecollCommSynchronize(handle_), "sparsecollCommSynchronize"); }
  /// Waits for a queued call and all calls before it. @param sequence what sequence() returned
  /// right after the call.
  void wait(std::uint64_t sequence) {
    check(sparsecollCommWait(handle_, sequence), "sparsecollCommWait");
  }
  /// Has `done(result)` called once, when a call has ended: on the thread of the communicator, or
  /// with `blocking` = 1 before this function returns. See ::sparsecollCommNotify().
  /// @param sequence what sequence() returned right after the call.
  /// @param done     a function of a sparsecollResult_t, which is moved here and destroyed after
  /// its
  ///                 call. It must not use the communicator.
  template <class Done>
  void notify(std::uint64_t sequence, Done&& done) {
    struct Kept {
      std::decay_t<Done> done;
      bool called = false;
    };
    const auto kept = std::make_shared<Kept>(Kept{std::forward<Done>(done)});
    auto owner = std::make_unique<std::shared_ptr<Kept>>(kept);
    const sparsecollNotify_t call = [](void* user, std::uint64_t, sparsecollResult_t result) {
      const std::unique_ptr<std::shared_ptr<Kept>> owned(static_cast<std::shared_ptr<Kept>*>(user));
      (*owned)->called = true;
      (*owned)->done(result);
    };
    const sparsecollResult_t result =
        sparsecollCommNotify(handle_, sequence, call, static_cast<void*>(owner.get()));
    // The call owns it. After an error there is none, except one that threw before the return.
    if (result == sparsecollSuccess || kept->called) static_cast<void>(owner.release());
    check(result, "sparsecollCommNotify");
  }
  /// Returns a future that is ready when a call has ended, and then throws the error of the call,
  /// if it had one. Any thread may wait for it. std::future has no continuations (`then`), and one
  /// would run where the communicator must not be used: pass to notify() what shall happen next.
  /// @param sequence what sequence() returned right after the call.
  std::future<void> future(std::uint64_t sequence) {
    std::promise<void> promise;
    std::future<void> result = promise.get_future();
    notify(sequence, [promise = std::move(promise)](sparsecollResult_t code) mutable {
      if (code == sparsecollSuccess) return promise.set_value();
      const std::string message = std::string("a call: ") + sparsecollGetErrorString(code);
      promise.set_exception(code == sparsecollTruncated
                                ? std::make_exception_ptr(Truncated(message))
                                : std::make_exception_ptr(Error(code, message)));
    });
    return result;
  }
  /// Makes `stream` wait for the device work of every call so far. With `blocking` = 0 this is how
  /// work on a stream gets to see results in device memory. Does nothing if no call had device
  /// buffers.
  /// @param stream a cudaStream_t; nullptr: the legacy default stream.
  void streamWait(sparsecollStream_t stream) {
    check(sparsecollCommStreamWait(handle_, stream), "sparsecollCommStreamWait");
  }
  /// Aborts whatever this rank is doing. Any thread may call it. The communicator must still be
  /// destroyed.
  void abort() { check(sparsecollCommAbort(handle_), "sparsecollCommAbort"); }
  /// Frees the communicator, its residuals and its push-sum states. If the library refuses
  /// (sparsecollInvalidUsage), nothing is freed, and the object still owns the communicator after
  /// the Error.
  void destroy() {
    const sparsecollResult_t result = sparsecollCommDestroy(handle_);
    if (result == sparsecollInvalidUsage) check(result, "sparsecollCommDestroy");
    handle_ = nullptr;
    if (result != sparsecollSuccess) throw Error(result, sparsecollGetErrorString(result));
  }

  /// Selects the k largest entries of acc = dense + residual; the residual keeps the rest. Local.
  /// See ::sparsecollTopk().
  /// @param dense    n values.
  /// @param k        number of entries to keep.
  /// @param out      out; grows as needed.
  /// @param residual the residual of this tensor, or nullptr.
  /// @param stream   the stream of buffers on a device.
  template <class Dense, class T, class Index>
  void topk(const Dense& dense, std::size_t k, SparseVector<T, Index>& out,
            Residual<Element<const Dense>>* residual = nullptr,
            sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<const Dense>, T>, "dense and out are of one type");
    const std::size_t count = std::size(dense);
    out.reserve(k < count ? k : count);
    check(sparsecollTopk(std::data(dense), count, k, DatatypeOf<T>::value,
                         detail::handle_of(residual), out.get(), handle_, stream),
          "sparsecollTopk");
  }

  /// Fills `dense` with zeros, then writes the entries of `in`. Local. See ::sparsecollScatter().
  /// @param in    a sparse vector.
  /// @param dense in.count() values.
  /// @param stream the stream of buffers on a device.
  template <class T, class Index, class Dense>
  void scatter(const SparseVector<T, Index>& in, Dense&& dense,
               sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<Dense>, T>, "in and dense are of one type");
    const std::string problem = detail::expect_size("dense", in.count(), std::size(dense));
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "sparsecollScatter: " + problem);
    check(sparsecollScatter(in.get(), std::data(dense), handle_, stream), "sparsecollScatter");
  }

  /// Fills `dense` with zeros, then writes the entries of `in`, all of which are in the region that
  /// begins at index `offset`, there. Local. See ::sparsecollScatterAt().
  /// @param in     a sparse vector.
  /// @param dense  the values of the region.
  /// @param offset the index of its first element.
  /// @param stream the stream of buffers on a device.
  template <class T, class Index, class Dense>
  void scatterAt(const SparseVector<T, Index>& in, Dense&& dense, std::size_t offset,
                 sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<Dense>, T>, "in and dense are of one type");
    check(
        sparsecollScatterAt(in.get(), std::data(dense), offset, std::size(dense), handle_, stream),
        "sparsecollScatterAt");
  }

  /// Gets the result of a call that threw Truncated, and grows `recv` for it. Does nothing if
  /// `recv` was large enough. Local. See ::sparsecollFetch().
  /// @param recv       the output of that call.
  /// @param recvcounts as in sparseAlltoall(); after other verbs empty.
  /// @param stream     the stream of buffers on a device.
  template <class T, class Index>
  void fetch(SparseVector<T, Index>& recv, Span<std::size_t> recvcounts = {},
             sparsecollStream_t stream = nullptr) {
    check(fetch_into(recv, recvcounts, stream)(handle_), "sparsecollFetch");
  }

  /// Returns the handle for the C API; nullptr: none.
  sparsecollComm_t get() const noexcept { return handle_; }
  /// Returns the handle and gives up its ownership: the caller destroys it.
  sparsecollComm_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// Returns true if the object owns a communicator.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  friend class Verbs<Communicator>;

  void check(sparsecollResult_t result, const char* function) const {
    detail::check(result, function, handle_);
  }

  /// Makes a verb's call, at once or queued, and fetches a truncated result.
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
  int exceptions_ = std::uncaught_exceptions();  ///< uncaught exceptions at construction
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_COMMUNICATOR_HPP_
