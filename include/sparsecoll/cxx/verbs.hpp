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

/// The handle of what may be absent.
template <class Object>
auto handle_of(const Object* object) {
  return object == nullptr ? nullptr : object->get();
}

/// "" or why `what` with `got` elements does not do where `expected` are.
inline std::string expect_size(const char* what, std::size_t expected, std::size_t got) {
  if (got == expected) return {};
  return std::string(what) + ": expected " + std::to_string(expected) + " elements, got " +
         std::to_string(got);
}

/// Where a list is, NULL for one that is empty (not wanted) or when there is a problem: the library
/// would read or write all of it.
template <class T>
T* list_if(bool good, Span<T> list) {
  return good && !list.empty() ? list.data() : nullptr;
}

}  // namespace detail

/// The verbs of a communicator, alone (Communicator) or in a group (Group). Types come from the
/// arguments: containers of elements that DatatypeOf knows, arrays, Span, std::span.
///
/// sparsecoll.h has the meaning of each function, under the same name. In all of them
///  - every failure is an Error, thrown after the library was told of it, so that the other ranks
///    get one too and do not wait;
///  - in dense form `send` and `recv` are of one length, and may be the same container;
///  - in coordinate form `recv` grows as needed;
///  - `residual` is that of this tensor, or nullptr for no error feedback.
template <class Self>
class Verbs {
 public:
  /// Top-k sparse allreduce, dense in, dense out: ::sparseAllreduce().
  /// @param send     n values.
  /// @param recv     room for n values.
  /// @param k        entries kept.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param residual see above.
  template <class Send, class Recv>
  void sparseAllreduce(const Send& send, Recv&& recv, std::size_t k,
                       sparsecollRedOp_t op = sparsecollSum,
                       Residual<Element<const Send>>* residual = nullptr) {
    dense("sparseAllreduce", ::sparseAllreduce, {k, op, detail::handle_of(residual)}, send, recv);
  }

  /// Global top-k by a tree of merges, dense in, dense out: ::gtopkAllreduce(). Parameters as
  /// sparseAllreduce().
  template <class Send, class Recv>
  void gtopkAllreduce(const Send& send, Recv&& recv, std::size_t k,
                      sparsecollRedOp_t op = sparsecollSum,
                      Residual<Element<const Send>>* residual = nullptr) {
    dense("gtopkAllreduce", ::gtopkAllreduce, {k, op, detail::handle_of(residual)}, send, recv);
  }

  /// Sparse allreduce in coordinate form: ::sparseAllreducev().
  /// @param send     by rising index.
  /// @param recv     another vector.
  /// @param k        entries kept, or kAll.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param residual what is not delivered is added to it.
  template <class T, class Index>
  void sparseAllreducev(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                        std::size_t k, sparsecollRedOp_t op = sparsecollSum,
                        Residual<T>* residual = nullptr) {
    coordinate("sparseAllreducev", ::sparseAllreducev, {k, op, detail::handle_of(residual)}, send,
               recv);
  }

  /// Global top-k by a tree of merges, in coordinate form: ::gtopkAllreducev(). Parameters as
  /// sparseAllreducev().
  template <class T, class Index>
  void gtopkAllreducev(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                       std::size_t k, sparsecollRedOp_t op = sparsecollSum,
                       Residual<T>* residual = nullptr) {
    coordinate("gtopkAllreducev", ::gtopkAllreducev, {k, op, detail::handle_of(residual)}, send,
               recv);
  }

  /// Sparse reduce-scatter: ::sparseReduceScatter().
  /// @param send     n values.
  /// @param recv     this rank's part of the sum.
  /// @param k        entries that each rank keeps.
  /// @param op       sparsecollSum or sparsecollAvg.
  /// @param bounds   P + 1 borders, rising from 0 to n; empty: equal parts.
  /// @param residual see above.
  template <class Send, class T, class Index>
  void sparseReduceScatter(const Send& send, SparseVector<T, Index>& recv, std::size_t k,
                           sparsecollRedOp_t op = sparsecollSum,
                           Span<const std::size_t> bounds = {},
                           Residual<Element<const Send>>* residual = nullptr) {
    static_assert(std::is_same_v<Element<const Send>, T>, "send and recv are of one type");
    const std::string problem = check_bounds(bounds);
    const auto call = [data = std::data(send), count = std::size(send), out = output(recv, problem),
                       k, op, borders = detail::list_if(problem.empty(), bounds),
                       feedback = detail::handle_of(residual)](sparsecollComm_t comm) {
      return ::sparseReduceScatter(data, out, count, k, DatatypeOf<T>::value, op, borders, feedback,
                                   comm, nullptr);
    };
    make("sparseReduceScatter", call, fetch_into(recv, {}), problem);
  }

  /// Sends every entry to the owner of its index: ::sparseAlltoall().
  /// @param send       by rising index.
  /// @param recv       what arrived, by source rank and, per source, by index.
  /// @param recvcounts out: how many entries came from each rank, P numbers; empty: not wanted.
  /// @param bounds     P + 1 borders, rising from 0 to send.count(); empty: equal parts.
  template <class T, class Index>
  void sparseAlltoall(const SparseVector<T, Index>& send, SparseVector<T, Index>& recv,
                      Span<std::size_t> recvcounts = {}, Span<const std::size_t> bounds = {}) {
    std::string problem = check_bounds(bounds);
    if (problem.empty() && !recvcounts.empty())
      problem = detail::expect_size("recvcounts", ranks(), recvcounts.size());
    const auto call = [in = send.get(), out = output(recv, problem),
                       counts = detail::list_if(problem.empty(), recvcounts),
                       borders = detail::list_if(problem.empty(), bounds)](sparsecollComm_t comm) {
      return ::sparseAlltoall(in, out, counts, borders, comm, nullptr);
    };
    make("sparseAlltoall", call, fetch_into(recv, recvcounts), problem);
  }

 protected:
  /// Gets a truncated result into a vector that grows for it.
  template <class T, class Index>
  static auto fetch_into(SparseVector<T, Index>& recv, Span<std::size_t> recvcounts) {
    return [&recv, counts = detail::list_if(true, recvcounts)](sparsecollComm_t comm) {
      if (recv.needed() <= recv.capacity()) return sparsecollSuccess;
      recv.reserve(recv.needed());
      return sparsecollFetch(recv.get(), counts, comm, nullptr);
    };
  }

 private:
  /// What the verbs that add up have in common.
  struct Sum {
    std::size_t k;
    sparsecollRedOp_t op;
    sparsecollResidual_t residual;
  };

  Self& self() { return static_cast<Self&>(*this); }

  std::size_t ranks() { return static_cast<std::size_t>(self().size()); }

  std::string check_bounds(Span<const std::size_t> bounds) {
    return bounds.empty() ? std::string()
                          : detail::expect_size("bounds", ranks() + 1, bounds.size());
  }

  /// The output of a call; NULL where there is a problem. The library refuses that on all ranks, so
  /// that nobody waits for a rank that had bad arguments.
  template <class T, class Index>
  static sparsecollSparse_t* output(SparseVector<T, Index>& recv, const std::string& problem) {
    recv.get()->needed = 0;
    return problem.empty() ? recv.get() : nullptr;
  }

  /// Gives the call to the library, then tells of the problem.
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
    // The other ranks are told of the NULL. Without values it would do as an output, hence the 1.
    const auto call = [function, data = std::data(send),
                       out = problem.empty() ? std::data(recv) : nullptr,
                       count = problem.empty() || std::size(send) > 0 ? std::size(send) : 1,
                       sum](sparsecollComm_t comm) {
      return function(data, out, count, sum.k, DatatypeOf<T>::value, sum.op, sum.residual, comm,
                      nullptr);
    };
    make(
        name, call, [](sparsecollComm_t) { return sparsecollSuccess; }, problem);
  }

  template <class Function, class T, class Index>
  void coordinate(const char* name, Function function, const Sum& sum,
                  const SparseVector<T, Index>& send, SparseVector<T, Index>& recv) {
    const auto call = [function, in = send.get(), out = output(recv, {}),
                       sum](sparsecollComm_t comm) {
      return function(in, out, sum.k, sum.op, sum.residual, comm, nullptr);
    };
    make(name, call, fetch_into(recv, {}), {});
  }
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_VERBS_HPP_
