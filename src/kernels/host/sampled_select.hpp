// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stage K0 of candidate_selection.hpp, and the selections that begin with it.

#include <cmath>
#include <type_traits>

#include "kernels/host/candidate_selection.hpp"

namespace sparsecoll::host {

/// Adjacent elements that are sampled together: a cache line of floats.
constexpr size_t kGroup = 16;
/// At most one of kSparsely elements is sampled.
constexpr size_t kSparsely = 32;
/// The smallest number of groups for which an estimate pays.
constexpr size_t kFewGroups = 4;

/// Mixes bits: groups lie at random in their parts of the vector, so that no regular pattern in it
/// hits all of them.
constexpr uint64_t scatter_bits(uint64_t x) {
  x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
  x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
  return x ^ x >> 33;
}

/// Samples gradient + residual: divides the vector into equal parts, and takes one group of
/// elements from each.
template <class T>
class Sample {
  using Acc = Accumulation<T>;

 public:
  Sample(const Gradient& gradient, size_t groups, SummedVectors* vectors)
      : vectors_(vectors),
        values_(static_cast<const T*>(gradient.values)),
        previous_(static_cast<const Acc*>(gradient.residual.read)),
        groups_(groups),
        part_(gradient.count / groups) {}

  /// Returns no values if a vector cannot be read.
  std::span<const Acc> take(Backend& backend) const {
    Acc* const sample = backend.arena().take<Acc>(groups_ * kGroup);
    if constexpr (std::is_same_v<T, Acc>)
      if (vectors_) return take_sums(backend.arena(), {sample, groups_ * kGroup});
    const size_t tasks = backend.threads();
    backend.run(tasks, [&](size_t t) {
      for (size_t g = groups_ * t / tasks; g < groups_ * (t + 1) / tasks; ++g)
        take_group(g, sample + g * kGroup);
    });
    return {sample, groups_ * kGroup};
  }

 private:
  size_t begin_of(size_t g) const {
    return (g * part_ + scatter_bits(g + 1) % (part_ - kGroup)) / kGroup * kGroup;
  }

  void take_group(size_t g, Acc* to) const {
    constexpr size_t kGroupsAhead = 24;  // this many waits for memory overlap
    const size_t next = begin_of(std::min(g + kGroupsAhead, groups_ - 1));
    __builtin_prefetch(values_ + next);
    if (previous_) __builtin_prefetch(previous_ + next);
    const size_t at = begin_of(g);
    for (size_t i = 0; i < kGroup; ++i)
      to[i] = previous_ ? widen(values_[at + i]) + previous_[at + i] : widen(values_[at + i]);
  }

  std::span<const Acc> take_sums(Arena& arena, std::span<Acc> sample) const {
    const std::span<size_t> begins = arena.take_span<size_t>(groups_);
    for (size_t g = 0; g < groups_; ++g) begins[g] = begin_of(g);
    T* const copy = arena.take<T>(sample.size());
    for (size_t v = 0; v < vectors_->number(); ++v) {
      if (!vectors_->read_groups(v, begins, kGroup, v == 0 ? sample.data() : copy)) return {};
      for (size_t i = 0; v > 0 && i < sample.size(); ++i) sample[i] += copy[i];
    }
    for (size_t i = 0; i < sample.size(); ++i)
      sample[i] += previous_[begins[i / kGroup] + i % kGroup];
    return sample;
  }

  SummedVectors* vectors_;
  const T* values_;
  const Acc* previous_;
  size_t groups_;
  size_t part_;
};

template <class T>
uint64_t guess_bound(Backend& backend, const Gradient& gradient, size_t k,
                     SummedVectors* vectors = nullptr);

/// The largest values of a sample, by index.
template <class Acc>
struct LargestValues {
  uint32_t* index;
  Acc* value;
  size_t most;  ///< memory for this many
};

/// Finds the k largest values, or all non-zeros if these are fewer. Returns their number. Takes the
/// same memory for every k up to `most`.
template <class Acc>
size_t find_largest(Backend& backend, std::span<const Acc> values, size_t k,
                    const LargestValues<Acc>& out) {
  const Arena::Scope scope(backend.arena());
  const Gradient gradient{values.data(), values.size(), {}};
  CandidateSelection<Acc> selection(backend, gradient, k, Overflow::returned, nullptr, out.most);
  const uint64_t bound = guess_bound<Acc>(backend, gradient, k);
  selection.filter(bound);
  if (selection.found() < k && bound > 1) selection.filter(selection.certain_bound());
  return selection.template write<uint32_t>(selection.threshold(),
                                            {out.index, out.value, nullptr, k});
}

/// Returns the variance of the number of entries over that of entries which lie independently of
/// each other, at least 1 (Kish 1965: the design effect of a cluster sample). It is above 1 if
/// entries are neighbours more often. `index` says where they lie, in groups of kGroup.
inline double design_effect(std::span<const uint32_t> index, size_t groups) {
  double squares = 0;  // sum of the squares of the groups' numbers
  for (size_t j = 0; j < index.size();) {
    const size_t begin = j;
    while (j < index.size() && index[j] / kGroup == index[begin] / kGroup) ++j;
    squares += static_cast<double>(j - begin) * static_cast<double>(j - begin);
  }
  const auto n = static_cast<double>(index.size());
  return n == 0 ? 1 : std::max(1.0, squares / n - n / static_cast<double>(groups));
}

/// Estimates a key that almost always at least k entries of gradient + residual reach, and not many
/// more. The sample has `mean` of k entries on average, with a variance of `mean` if they lie
/// independently, and up to kGroup times that if they are neighbours. The key is that of the
/// sampled entry of rank mean + 4 standard deviations + 8: with a normal distribution too few
/// entries reach it in one of 30,000 calls. The 8 are for small means, whose distribution is not
/// normal. The first look takes twice the variance of independent entries and measures the design
/// effect; only if that is above two, a second look follows.
template <class T>
uint64_t guess_bound(Backend& backend, const Gradient& gradient, size_t k, SummedVectors* vectors) {
  using Acc = Accumulation<T>;
  const size_t groups =
      std::min(backend.tuning().sample_groups, gradient.count / (kSparsely * kGroup));
  if (k == 0) return kKeyEnd<Acc>;
  if (backend.tuning().forced_bound != 0) return backend.tuning().forced_bound;
  if (groups < kFewGroups) return 1;
  const double mean = static_cast<double>(k) / static_cast<double>(gradient.count) *
                      static_cast<double>(groups * kGroup);
  const auto rank_at = [mean](double variance) {
    return static_cast<size_t>(mean + 4 * std::sqrt(variance) + 8);
  };
  const size_t largest_rank = groups * kGroup / 2, rank = rank_at(2 * mean);
  if (rank > largest_rank) return 1;
  const Arena::Scope scope(backend.arena());
  const auto sample = Sample<T>(gradient, groups, vectors).take(backend);
  if (sample.empty()) return 1;
  const size_t most = std::min(largest_rank, rank_at(mean * kGroup));  // the highest design effect
  const LargestValues<Acc> largest{backend.arena().take<uint32_t>(most),
                                   backend.arena().take<Acc>(most), most};
  size_t n = find_largest(backend, sample, rank, largest);
  const size_t wanted = rank_at(mean * design_effect({largest.index, n}, groups));
  if (wanted > most) return 1;
  if (wanted > rank) n = find_largest(backend, sample, wanted, largest);
  if (n < wanted) return 1;
  const Threshold threshold = find_threshold<Acc>(
      n, wanted, [&largest](size_t j) -> uint64_t { return key_of(largest.value[j]); });
  return threshold.ties > 0 ? threshold.key : threshold.key + 1;
}

/// Does what accumulate_select() of select.hpp does, if `vectors` is null; else with their sum as
/// the gradient, which needs a residual. Returns false if one of them cannot be read.
template <class T, class I>
bool accumulate_select(Backend& backend, const Gradient& gradient, size_t k,
                       const SparseBuffer& selected, SummedVectors* vectors = nullptr) {
  const Arena::Scope scope(backend.arena());
  const uint64_t bound = guess_bound<T>(backend, gradient, k, vectors);
  CandidateSelection<T> selection(backend, gradient, k, Overflow::returned, vectors);
  selection.filter(bound);
  if (selection.has_read() && selection.found() < k && bound > 1)
    selection.filter(selection.certain_bound());
  if (!selection.has_read()) return false;
  *selected.nnz = selection.template write<I>(selection.threshold(), selected);
  return true;
}

/// Does what accumulate_above() of select.hpp does.
template <class T, class I>
void accumulate_above(Backend& backend, const Gradient& gradient, uint64_t key,
                      const SparseBuffer& selected) {
  const Arena::Scope scope(backend.arena());
  CandidateSelection<T> selection(backend, gradient, selected.capacity, Overflow::counted);
  selection.filter(key);
  const size_t found = selection.found();
  if (found <= selected.capacity) selection.template write<I>(Threshold{}, selected);
  *selected.nnz = found;
}

}  // namespace sparsecoll::host
