// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_VERBS_HPP_
#define SPARSECOLL_CXX_VERBS_HPP_

/// @file
/// @brief The verbs, as members of Communicator and Group. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/sparse_vector.hpp>

namespace sparsecoll {
inline namespace cxx {

template <class T>
class Residual;

namespace detail {

/// T, for an argument from which the compiler must not deduce T, so that nullptr can be passed.
template <class T>
using Given = std::enable_if_t<true, T>;

/// Returns the handle of an object, or nullptr without an object.
template <class Object>
auto handle_of(const Object* object) {
  return object == nullptr ? nullptr : object->get();
}

/// Returns "", or a message if argument `what` has `got` instead of `expected` elements.
inline std::string expect_size(const char* what, std::size_t expected, std::size_t got) {
  if (got == expected) return {};
  return std::string(what) + ": expected " + std::to_string(expected) + " elements, got " +
         std::to_string(got);
}

/// Returns the address of `list`, or NULL if it is empty (not wanted) or not `good`: the library
/// would access all P or P + 1 elements.
template <class T>
T* list_if(bool good, Span<T> list) {
  return good && !list.empty() ? list.data() : nullptr;
}

}  // namespace detail

/// The verbs of a communicator, alone (Communicator) or in a group (Group). The datatype is deduced
/// from the arguments: containers and arrays of elements that have a DatatypeOf, Span, std::span.
///
/// sparsecoll.h documents each function under the same name. In all of them
///  - a failure throws an Error. The wrapper first makes the call of the library even with bad
///    arguments, so that the other ranks get an error too and do not wait;
///  - in dense form `send` and `recv` have the same length and may be the same container;
///  - in coordinate form `recv` grows as needed;
///  - `residual` is the residual of this tensor, or nullptr for no error feedback;
///  - `stream` is the cudaStream_t of buffers on a device, to which a Span points; nullptr is the
///    legacy default stream. With buffers on the host it is nullptr.
template <class Self>
class Verbs {
 public:
  /// Sums the ranks' top-k entries and returns the top-k of the sum, dense in, dense out. See
  /// ::sparseAllreduce().
  /// @param send     n values.
  /// @param recv     out: n values.
  /// @param k        number of entries to keep.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param residual the residual of this tensor, or nullptr.
  /// @param stream   the stream of buffers on a device.
  template <class Send, class Recv>
  void sparseAllreduce(const Send& send, Recv&& recv, std::size_t k,
                       sparsecollRedOp_t op = sparsecollSum,
                       Residual<Element<const Send>>* residual = nullptr,
                       sparsecollStream_t stream = nullptr) {
    dense("sparseAllreduce", ::sparseAllreduce, {k, op, detail::handle_of(residual), stream}, send,
          recv);
  }

  /// Computes a global top-k by a tree of merges, dense in, dense out. See ::gtopkAllreduce(). The
  /// parameters are those of sparseAllreduce().
  template <class Send, class Recv>
  void gtopkAllreduce(const Send& send, Recv&& recv, std::size_t k,
                      sparsecollRedOp_t op = sparsecollSum,
                      Residual<Element<const Send>>* residual = nullptr,
                      sparsecollStream_t stream = nullptr) {
    dense("gtopkAllreduce", ::gtopkAllreduce, {k, op, detail::handle_of(residual), stream}, send,
          recv);
  }

  /// Sums sparse vectors and returns the top-k of the sum, in coordinate form. See
  /// ::sparseAllreducev().
  /// @param send     entries by increasing index.
  /// @param recv     out: another vector.
  /// @param k        number of entries to keep, or kAll.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param residual entries that are not delivered are added to it; or nullptr.
  /// @param stream   the stream of buffers on a device.
  template <class T, class Index>
  void sparseAllreducev(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                        std::size_t k, sparsecollRedOp_t op = sparsecollSum,
                        Residual<detail::Given<T>>* residual = nullptr,
                        sparsecollStream_t stream = nullptr) {
    coordinate("sparseAllreducev", ::sparseAllreducev, {k, op, detail::handle_of(residual), stream},
               send, recv);
  }

  /// Computes a global top-k by a tree of merges, in coordinate form. See ::gtopkAllreducev(). The
  /// parameters are those of sparseAllreducev().
  template <class T, class Index>
  void gtopkAllreducev(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                       std::size_t k, sparsecollRedOp_t op = sparsecollSum,
                       Residual<detail::Given<T>>* residual = nullptr,
                       sparsecollStream_t stream = nullptr) {
    coordinate("gtopkAllreducev", ::gtopkAllreducev, {k, op, detail::handle_of(residual), stream},
               send, recv);
  }

  /// Sums the ranks' top-k entries and gives each rank its region of the sum. See
  /// ::sparseReduceScatter().
  /// @param send     n values.
  /// @param recv     out: this rank's region of the sum.
  /// @param k        number of entries that each rank selects.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param bounds   P + 1 bounds of the regions, non-decreasing from 0 to n; empty: equal regions.
  /// @param residual the residual of this tensor, or nullptr.
  /// @param stream   the stream of buffers on a device.
  template <class Send, class T, class Index>
  void sparseReduceScatter(const Send& send, SparseVector<T, Index>& recv, std::size_t k,
                           sparsecollRedOp_t op = sparsecollSum,
                           Span<const std::size_t> bounds = {},
                           Residual<Element<const Send>>* residual = nullptr,
                           sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<const Send>, T>, "send and recv are of one type");
    const std::size_t blocks = std::size(send) / recv.block_size();
    std::string problem = check_bounds(bounds);
    if (problem.empty())
      problem = detail::expect_size("send", blocks * recv.block_size(), std::size(send));
    const auto call = [data = std::data(send), count = blocks, out = output(recv, problem), k, op,
                       borders = detail::list_if(problem.empty(), bounds),
                       feedback = detail::handle_of(residual), stream](sparsecollComm_t comm) {
      return ::sparseReduceScatter(data, out, count, k, DatatypeOf<T>::value, op, borders, feedback,
                                   comm, stream);
    };
    make("sparseReduceScatter", call, fetch_into(recv, {}, stream), problem);
  }

  /// Sends every entry to the rank that owns its index. See ::sparseAlltoall().
  /// @param send       entries by increasing index.
  /// @param recv       out: the received entries, by source rank and, for each source, by index.
  /// @param recvcounts out: the number of entries from each rank, P numbers; empty: not wanted.
  /// @param bounds     P + 1 bounds of the regions, non-decreasing from 0 to send.count(); empty:
  ///                   equal regions.
  /// @param stream     the stream of buffers on a device.
  template <class T, class Index>
  void sparseAlltoall(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                      Span<std::size_t> recvcounts = {}, Span<const std::size_t> bounds = {},
                      sparsecollStream_t stream = nullptr) {
    std::string problem = check_bounds(bounds);
    if (problem.empty() && !recvcounts.empty())
      problem = detail::expect_size("recvcounts", ranks(), recvcounts.size());
    const auto call = [in = send.get(), out = output(recv, problem),
                       counts = detail::list_if(problem.empty(), recvcounts),
                       borders = detail::list_if(problem.empty(), bounds),
                       stream](sparsecollComm_t comm) {
      return ::sparseAlltoall(in, out, counts, borders, comm, stream);
    };
    make("sparseAlltoall", call, fetch_into(recv, recvcounts, stream), problem);
  }

 protected:
  /// Returns a function that fetches a truncated result into `recv`, which grows for it.
  template <class T, class Index>
  static auto fetch_into(SparseVector<T, Index>& recv, Span<std::size_t> recvcounts,
                         sparsecollStream_t stream) {
    return [&recv, counts = detail::list_if(true, recvcounts), stream](sparsecollComm_t comm) {
      if (recv.needed() <= recv.capacity()) return sparsecollSuccess;
      recv.reserve(recv.needed());
      return sparsecollFetch(recv.get(), counts, comm, stream);
    };
  }

 private:
  /// The arguments that all reducing verbs have.
  struct Sum {
    std::size_t k;
    sparsecollRedOp_t op;
    sparsecollResidual_t residual;
    sparsecollStream_t stream;
  };

  Self& self() { return static_cast<Self&>(*this); }

  std::size_t ranks() { return static_cast<std::size_t>(self().size()); }

  std::string check_bounds(Span<const std::size_t> bounds) {
    return bounds.empty() ? std::string()
                          : detail::expect_size("bounds", ranks() + 1, bounds.size());
  }

  /// Returns the output of a call, or NULL if there is a problem. The library reports the NULL on
  /// all ranks, so that no rank waits for the one with bad arguments.
  template <class T, class Index>
  static sparsecollSparse_t* output(SparseVector<T, Index>& recv, const std::string& problem) {
    recv.get()->needed = 0;
    return problem.empty() ? recv.get() : nullptr;
  }

  /// Makes the call of the library, then throws if there is a problem.
  template <class Call, class Fetch>
  void make(const char* name, const Call& call, const Fetch& fetch, const std::string& problem) {
    try {
      self().submit(name, call, fetch);
    } catch (const Error& error) {
      if (problem.empty() || error.fatal()) throw;
    }
    if (!problem.empty())
      throw Error(sparsecollInvalidArgument, std::string(name) + ": " + problem);
  }

  template <class Function, class Send, class Recv>
  void dense(const char* name, Function function, const Sum& sum, const Send& send, Recv& recv) {
    using T = Element<const Send>;
    static_assert(std::is_same_v<T, Element<Recv>>, "send and recv are of one type");
    static_assert(std::is_convertible_v<decltype(std::data(recv)), void*>, "recv is written to");
    const std::string problem = detail::expect_size("recv", std::size(send), std::size(recv));
    // If recv has another size, the output is NULL, which the library reports on all ranks. It
    // accepts NULL for count = 0: then pass count 1.
    const auto call = [function, data = std::data(send),
                       out = problem.empty() ? std::data(recv) : nullptr,
                       count = problem.empty() || std::size(send) > 0 ? std::size(send) : 1,
                       sum](sparsecollComm_t comm) {
      return function(data, out, count, sum.k, DatatypeOf<T>::value, sum.op, sum.residual, comm,
                      sum.stream);
    };
    make(
        name, call, [](sparsecollComm_t) { return sparsecollSuccess; }, problem);
  }

  template <class Function, class T, class Index>
  void coordinate(const char* name, Function function, const Sum& sum,
                  const SparseVector<T, Index>& send, SparseVector<T, Index>& recv) {
    const auto call = [function, in = send.get(), out = output(recv, {}),
                       sum](sparsecollComm_t comm) {
      return function(in, out, sum.k, sum.op, sum.residual, comm, sum.stream);
    };
    make(name, call, fetch_into(recv, {}, sum.stream), {});
  }
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_VERBS_HPP_
