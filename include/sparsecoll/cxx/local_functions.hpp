// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_CXX_LOCAL_FUNCTIONS_HPP_
#define SPARSECOLL_CXX_LOCAL_FUNCTIONS_HPP_

/// @file
/// @brief The functions of a communicator that exchange nothing. Included by sparsecoll.hpp.

#include <sparsecoll/cxx/verbs.hpp>
#include <string>

namespace sparsecoll {
inline namespace cxx {

/// The functions of a Communicator that work on this rank's vectors and exchange nothing.
/// sparsecoll.h documents each function. Communicator is `Self`, the derived class.
template <class Self>
class LocalFunctions {
 public:
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
    const std::size_t count = whole_blocks("sparsecollTopk", std::size(dense), out.block_size());
    out.reserve(k < count ? k : count);
    self().check(sparsecollTopk(std::data(dense), count, k, DatatypeOf<T>::value,
                                detail::handle_of(residual), out.get(), self().get(), stream),
                 "sparsecollTopk");
  }

  /// Fills `dense` with zeros, then writes the entries of `in`. Local. See ::sparsecollScatter().
  /// @param in    a sparse vector.
  /// @param dense in.count() values or blocks.
  /// @param stream the stream of buffers on a device.
  template <class T, class Index, class Dense>
  void scatter(const SparseVector<T, Index>& in, Dense&& dense,
               sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<Dense>, T>, "in and dense are of one type");
    const std::string problem =
        detail::expect_size("dense", in.count() * in.block_size(), std::size(dense));
    if (!problem.empty()) throw Error(sparsecollInvalidArgument, "sparsecollScatter: " + problem);
    self().check(sparsecollScatter(in.get(), std::data(dense), self().get(), stream),
                 "sparsecollScatter");
  }

  /// Fills `dense`, a region of the vector, with zeros, then writes the entries of `in` to it:
  /// index `offset` goes to dense[0]. Local. See ::sparsecollScatterAt().
  /// @param in     a sparse vector; all entries are in the region.
  /// @param dense  the values of the region, or its blocks.
  /// @param offset the index of its first element.
  /// @param stream the stream of buffers on a device.
  template <class T, class Index, class Dense>
  void scatterAt(const SparseVector<T, Index>& in, Dense&& dense, std::size_t offset,
                 sparsecollStream_t stream = nullptr) {
    static_assert(std::is_same_v<Element<Dense>, T>, "in and dense are of one type");
    const std::size_t length =
        whole_blocks("sparsecollScatterAt", std::size(dense), in.block_size());
    self().check(
        sparsecollScatterAt(in.get(), std::data(dense), offset, length, self().get(), stream),
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
    self().check(self().fetch_into(recv, recvcounts, stream)(self().get()), "sparsecollFetch");
  }

 private:
  /// Returns how many blocks so many values of `dense` are. Throws if the last one is not whole.
  static std::size_t whole_blocks(const char* name, std::size_t values, std::size_t block_size) {
    const std::size_t blocks = values / block_size;
    const std::string problem = detail::expect_size("dense", blocks * block_size, values);
    if (!problem.empty())
      throw Error(sparsecollInvalidArgument, std::string(name) + ": " + problem);
    return blocks;
  }

  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace cxx
}  // namespace sparsecoll

#endif  // SPARSECOLL_CXX_LOCAL_FUNCTIONS_HPP_
