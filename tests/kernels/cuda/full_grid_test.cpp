// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests cooperative kernels with the most blocks that they are ever launched with: kResidentBlocks
// on every multiprocessor. A device that cannot hold these blocks at once refuses the launch.

#include "kernels/cuda/select_input.hpp"
#include "kernels/messages.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

/// One tensor that is long enough to fill the grid of every kernel, and a selection of it.
template <class T, class I>
class FullGrid {
  using Acc = Accumulation<T>;

 public:
  std::string select(bool staged, bool feedback) {
    return compare(
        staged, feedback,
        [this](Kernels& kernels, const Gradient& gradient, const SparseBuffer& selected) {
          kernels.accumulate_select(gradient, k_, selected);
        });
  }

  std::string select_above(bool staged, bool feedback) {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < n_; ++i)
      keys.push_back(
          key_of(sparsecoll::widen(input_.values[i]) + (feedback ? input_.residual[i] : Acc{0})));
    std::nth_element(keys.begin(), keys.end() - static_cast<ptrdiff_t>(k_), keys.end());
    const uint64_t key = keys[n_ - k_] + 1;  // avoids ties with the k-th, which might not fit
    return compare(staged, feedback,
                   [key](Kernels& kernels, const Gradient& gradient, const SparseBuffer& selected) {
                     kernels.accumulate_above(gradient, key, selected);
                   });
  }

  std::string split() {
    const Entries<Acc> entries = unit::sparse_of<Acc>(kKind, 2 * n_, 3);
    const SparseSpan ours = pair_.host.put(entries), theirs = pair_.device.put(entries);
    const auto run = [&](Kernels& kernels, const SparseSpan& in) {
      std::vector<SparseBuffer> out;
      for (const size_t capacity : {k_, n_ * 2, n_ * 2}) out.push_back(kernels.sparse(capacity));
      kernels.top_k(in, k_, out[0], out[1]);
      kernels.select_above(in, {key_of(entries[7].value), 3}, out[2]);
      return out;
    };
    const auto want = run(pair_.host.kernels(), ours), got = run(pair_.device.kernels(), theirs);
    std::string differs;
    for (size_t b = 0; b < want.size(); ++b)
      differs += test::difference("list", pair_.device.get(got[b]), pair_.host.get(want[b]));
    return differs;
  }

  /// Unpacks a message that is long enough for as many blocks as a call can have.
  std::string unpack() {
    Entries<Acc> entries;
    for (size_t i = 0; i < 2 * n_; ++i)
      if (i % 2 == 0) entries.push_back({i, static_cast<Acc>(test::noise(5, i) % 200)});
    const Region region{0, 2 * n_};
    const auto bytes = unit::pack<Acc, I, data_type_of<T>()>(entries, {region})[0];
    const Message message{{pair_.device.upload(bytes), bytes.size()}, region};
    const SparseBuffer out = pair_.device.kernels().sparse(entries.size());
    uint64_t* const fault = pair_.device.kernels().counts(1);
    pair_.device.kernels().unpack_all({&message, 1}, {&out, 1}, fault);
    if (pair_.device.kernels().read(fault) != 0) return "a fault";
    return test::difference("unpacked", pair_.device.get(out), entries);
  }

 private:
  static constexpr test::Kind kKind = test::Kind::kHeavyTail;

  /// Makes the same call on host and device.
  template <class Call>
  std::string compare(bool staged, bool feedback, const Call& call) {
    pair_.device.backend().tuning() = {staged ? 0 : n_ + 1, n_};  // the sample is the whole vector
    std::vector<Acc> want(n_);
    Acc* const next = pair_.device.upload(want);
    ResidualView ours, theirs;
    if (feedback) {
      ours = {input_.residual.data(), want.data()};
      theirs = {pair_.device.upload(input_.residual), next};
    }
    const SparseBuffer host = pair_.host.kernels().sparse(k_);
    const SparseBuffer device = pair_.device.kernels().sparse(k_);
    call(pair_.host.kernels(), {input_.values.data(), n_, ours}, host);
    call(pair_.device.kernels(), {pair_.device.upload(input_.values), n_, theirs}, device);
    const std::string differs =
        test::difference("selected", pair_.device.get(device), pair_.host.get(host));
    if (!differs.empty() || !feedback) return differs;
    return test::difference("residual", pair_.device.template download<Acc>(next, n_), want);
  }

  Pair<Acc, I, data_type_of<T>()> pair_;
  /// More elements than all blocks of a grid take at once. A multiprocessor holds at most 2048
  /// threads, which is 8 blocks. A block takes most when it samples: 256 sectors of at most 16
  /// elements each.
  const size_t n_ = 16 * 256 * (size_t{8} * pair_.device.backend().multiprocessors() + 1);
  const size_t k_ = n_ / 50;
  const Input<T> input_ = input_of<T>(kKind, n_, 19);
};

template <class T, class I>
void check_full() {
  FullGrid<T, I> grid;
  INFO(name_of(data_type_of<T>()) << ", indices of " << 8 * sizeof(I) << " bits");
  for (const bool staged : {true, false}) {
    for (const bool feedback : {true, false}) {
      INFO((staged ? "staged" : "at once") << (feedback ? ", feedback" : ""));
      CHECK(grid.select(staged, feedback) == "");
      CHECK(grid.select_above(staged, feedback) == "");
    }
  }
  CHECK(grid.split() == "");
  CHECK(grid.unpack() == "");
}

TEST_CASE("kernels whose blocks wait for each other fill the device") {
  check_full<float, uint32_t>();
  if (test::small_run()) return;
  check_full<float, uint64_t>();
  check_full<double, uint32_t>();
  check_full<double, uint64_t>();
  check_full<Bfloat16, uint32_t>();
  check_full<Bfloat16, uint64_t>();
}

}  // namespace
}  // namespace sparsecoll::cuda_test
