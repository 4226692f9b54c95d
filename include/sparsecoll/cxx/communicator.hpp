// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_COMMUNICATOR_HPP_
#define SPARSECOLL_CXX_COMMUNICATOR_HPP_

/// @file
/// @brief The class that owns one rank's communicator. Included by sparsecoll.hpp.

#include <algorithm>
#include <exception>
#include <sparsecoll/cxx/local_functions.hpp>
#include <sparsecoll/cxx/queued_calls.hpp>
#include <sparsecoll/cxx/verbs.hpp>
#include <string>
#include <vector>

namespace sparsecoll {
inline namespace cxx {

/// Owns a communicator. Its functions have the names of the C API without prefixes, and
/// sparsecoll.h documents them. Every result of the C API except success is thrown as an Error.
/// Only one thread at a time may use a communicator, except for wait(), notify(), future(), abort()
/// and the queries.
///
/// The destructor never throws. It destroys the communicator as destroy() does; over MPI and NCCL
/// this is collective. It aborts first in two cases: while an exception unwinds the stack, because
/// the other ranks may never destroy theirs, and when the library refuses to destroy the
/// communicator. After an abort no rank waits, and the peers get an error. Memory that cannot be
/// freed even then is leaked, see sparsecollCommDestroy().
class Communicator : public Verbs<Communicator>,
                     public LocalFunctions<Communicator>,
                     public QueuedCalls<Communicator> {
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
  /// Makes a communicator like initRank(). The ranks find each other through a function.
  /// Collective.
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
  /// Makes a communicator without the ranks in `exclude`; all other ranks pass the same list.
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
  /// Returns statistics of this rank's verbs. @param which sparsecollStatsLast or
  /// sparsecollStatsTotal.
  sparsecollStats_t stats(int which = sparsecollStatsLast) const {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    check(sparsecollCommGetStats(handle_, which, &stats), "sparsecollCommGetStats");
    return stats;
  }
  /// Returns the node and the groups of this rank, level by level. Call it on all ranks the
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

  /// Aborts whatever this rank is doing. Any thread may call it. The communicator must still be
  /// destroyed.
  void abort() { check(sparsecollCommAbort(handle_), "sparsecollCommAbort"); }
  /// Frees the communicator, its residuals and its push-sum states. If the library refuses
  /// (sparsecollInvalidUsage), nothing is freed, and the object still owns the communicator after
  /// the Error.
  void destroy() {
    const sparsecollResult_t result = sparsecollCommDestroy(handle_);
    int rank = 0;
    // An abort during the call gives the same result as a refusal, but ends the handle.
    if (result == sparsecollInvalidUsage && sparsecollCommRank(handle_, &rank) == sparsecollSuccess)
      check(result, "sparsecollCommDestroy");
    handle_ = nullptr;
    if (result != sparsecollSuccess) throw Error(result, sparsecollGetErrorString(result));
  }

  /// Returns the handle for the C API; nullptr: none.
  sparsecollComm_t get() const noexcept { return handle_; }
  /// Returns the handle and gives up its ownership: the caller destroys it.
  sparsecollComm_t release() noexcept { return std::exchange(handle_, nullptr); }
  /// Returns true if the object owns a communicator.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  friend class Verbs<Communicator>;
  friend class LocalFunctions<Communicator>;
  friend class QueuedCalls<Communicator>;

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
