// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests sums and selections of vectors of blocks on the device against the host's.

#include "kernels/cuda/block_pair.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

using test::Kind;

/// Sums, and joins, of vectors whose indices overlap; `rising`: of vectors one behind the other.
template <class T, class I>
std::string check_sums(size_t size, size_t inputs, size_t count) {
  using Acc = Accumulation<T>;
  BlockPair<T, I> pair(size);
  std::vector<SparseSpan> here, there;
  size_t most = 0;
  for (size_t p = 0; p < inputs; ++p) {
    const auto blocks = p % 7 == 6 ? Blocks<Acc>{}
                                   : blocks_of<Acc>(Kind::kHeavyTail, count, size, p + 1,
                                                    static_cast<unsigned>(2 + p % 3));
    const auto spans = pair.put(blocks);
    here.push_back(spans.host);
    there.push_back(spans.device);
    most += blocks.index.size();
  }
  const auto on = [](const auto& spans, const auto& call) {
    return
        [&spans, &call](Kernels& kernels, const SparseBuffer& out) { call(kernels, spans, out); };
  };
  const auto compare = [&](const char* what, const auto& call) {
    return pair.template compare<Acc>(what, most, on(here, call), on(there, call));
  };
  std::string differs = compare(
      "merge", [](Kernels& kernels, const auto& in, const auto& out) { kernels.merge(in, out); });
  differs += pair.template compare<T>(
      "deliver_concatenated", most,
      [&](Kernels& kernels, const auto& out) { kernels.deliver_concatenated(here, out); },
      [&](Kernels& kernels, const auto& out) { kernels.deliver_concatenated(there, out); });
  differs += compare("concatenate", [](Kernels& kernels, const auto& in, const auto& out) {
    kernels.concatenate(in, out);
  });
  if constexpr (!Integer<T>) {
    const uint64_t key = key_of(1e3) + 1;
    differs += compare("merge_above", [&](Kernels& kernels, const auto& in, const auto& out) {
      kernels.merge_above(in, key, out);
    });
  }
  return differs;
}

TEMPLATE_TEST_CASE("sums of blocks are the host's, in the order of the inputs", "", float, double,
                   Bfloat16, uint32_t) {
  for (const size_t size : kBlockSizes) {
    for (const size_t inputs : {0, 1, 2, 3, 32}) {
      CAPTURE(size, inputs);
      CHECK(check_sums<TestType, uint32_t>(size, inputs, 90) == "");
      CHECK(check_sums<TestType, uint64_t>(size, inputs, 20) == "");
    }
  }
  CHECK(check_sums<TestType, uint32_t>(3, 70, 50) == "");   // in rounds
  CHECK(check_sums<TestType, uint64_t>(4, 3, 5000) == "");  // of several tiles
}

template <class T, class I>
std::string check_selections(Kind kind, size_t size, size_t count) {
  using Acc = Accumulation<T>;
  BlockPair<T, I> pair(size);
  const auto in = pair.put(blocks_of<Acc>(kind, count, size, 5));
  std::string differs;
  for (const size_t k : {size_t{0}, size_t{1}, count / 5, count}) {
    for (const bool drops : {true, false}) {
      SparseBuffer kept_here, kept_there;
      const auto top = [&](const SparseSpan& from, SparseBuffer& kept) {
        return [&from, &kept, k, drops](Kernels& kernels, const SparseBuffer& dropped) {
          kept = kernels.sparse(k);
          kernels.set_count(dropped.nnz, 0);
          kernels.top_k(from, k, kept, drops ? dropped : SparseBuffer{});
        };
      };
      differs += pair.template compare<Acc>("dropped", count, top(in.host, kept_here),
                                            top(in.device, kept_there));
      differs += test::difference("kept", pair.template bits_there<Acc>(kept_there),
                                  pair.template bits<Acc>(kept_here));
    }
  }
  const uint64_t least = pair.host().least_key(in.host);
  if (pair.device().least_key(in.device) != least) differs += "least_key differs";
  const KeyBins bins{least + 1, 51, 6};
  uint64_t* const here = pair.host().counts(7);
  uint64_t* const there = pair.device().counts(7);
  pair.host().key_histogram(in.host, bins, here);
  pair.device().key_histogram(in.device, bins, there);
  differs += test::difference("bins", pair.backend().template download<uint64_t>(there, 7),
                              std::vector<uint64_t>(here, here + 7));
  const uint64_t middle = key_of(1.0);
  for (const Threshold& threshold : {Threshold{}, Threshold{middle, 0}, Threshold{least, 2}}) {
    const auto above = [&threshold](const SparseSpan& from) {
      return [&from, &threshold](Kernels& kernels, const SparseBuffer& out) {
        kernels.select_above(from, threshold, out);
      };
    };
    differs += pair.template compare<Acc>("select_above", count, above(in.host), above(in.device));
  }
  return differs;
}

TEMPLATE_TEST_CASE("selections of blocks are the host's", "", float, double, Float16) {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t size : kBlockSizes) {
      CAPTURE(test::name_of(kind), size);
      CHECK(check_selections<TestType, uint32_t>(kind, size, 60) == "");
      CHECK(check_selections<TestType, uint64_t>(kind, size, 7) == "");
    }
    CHECK(check_selections<TestType, uint32_t>(kind, 3, 2000) == "");
  }
}

template <class T, class I>
std::string check_gradient(Kind kind, size_t size, size_t count, size_t k, bool feedback) {
  using Acc = Accumulation<T>;
  BlockPair<T, I> pair(size);
  const auto gradient = values_of<T>(kind, count * size, 3);
  const auto old = values_of<Acc>(kind, count * size, 4);
  std::vector<Acc> next(count * size + 1);
  const T* const gradient_there = pair.backend().upload(gradient);
  const Acc* const old_there = pair.backend().upload(old);
  Acc* const next_there = pair.backend().upload(next);
  const ResidualView here{old.data(), next.data()}, there{old_there, next_there};
  std::string differs = pair.template compare<Acc>(
      "selected", k,
      [&](Kernels& kernels, const auto& out) {
        kernels.accumulate_select({gradient.data(), count, feedback ? here : ResidualView{}}, k,
                                  out);
      },
      [&](Kernels& kernels, const auto& out) {
        kernels.accumulate_select({gradient_there, count, feedback ? there : ResidualView{}}, k,
                                  out);
      });
  const auto got = pair.backend().template download<Acc>(next_there, count * size);
  next.pop_back();
  return differs + test::difference("residual", bits_but_nan(got), bits_but_nan(next));
}

TEMPLATE_TEST_CASE("blocks selected from a gradient and what stays are the host's", "", float,
                   double, Float16, Bfloat16) {
  for (const Kind kind : unit::kDenseKinds) {
    for (const size_t size : kBlockSizes) {
      for (const size_t k : {0, 1, 9, 50}) {
        CAPTURE(test::name_of(kind), size, k);
        CHECK(check_gradient<TestType, uint32_t>(kind, size, 50, k, k != 9) == "");
        CHECK(check_gradient<TestType, uint64_t>(kind, size, 50, k, k == 9) == "");
      }
    }
  }
}

}  // namespace
}  // namespace sparsecoll::cuda_test
