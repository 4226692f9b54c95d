// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Dense vectors of more than 2^31 and 2^32 values. Nearly all values are zeros that are never
// written, which take no memory: the system maps them to one page. Only with
// SPARSECOLL_TEST_LARGE=1, because reading them takes minutes, and a dense result takes memory.

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kAbove31 = (std::size_t{1} << 31) + 77,
                      kAbove32 = (std::size_t{1} << 32) + 77;

/// So many zeros, of which those that are never written take no memory.
template <class T>
class Zeros {
 public:
  explicit Zeros(std::size_t count) : bytes_(count * sizeof(T)) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    madvise(at, bytes_, MADV_NOHUGEPAGE);
    values_ = static_cast<T*>(at);
  }
  ~Zeros() { munmap(values_, bytes_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  T* data() { return values_; }
  T& operator[](std::size_t index) { return values_[index]; }

 private:
  std::size_t bytes_;
  T* values_;
};

using Entries = std::map<std::size_t, float>;

/// Returns the entries of rank r, at both ends of the vector, around 2^31 and 2^32, and in between.
Entries entries_of(int rank, std::size_t count) {
  Entries entries;
  std::size_t i = 0;
  for (const std::size_t near :
       {std::size_t{2}, count / 3, (std::size_t{1} << 31), (std::size_t{1} << 32), count - 3})
    for (std::size_t at = near - 2; at <= near + 2; ++at)
      if (at < count && (at + static_cast<std::size_t>(rank)) % 3 != 0)
        entries[at] = static_cast<float>(1 + (i++ * 7 + static_cast<std::size_t>(rank)) % 32);
  return entries;
}

Entries sum_of(int P, std::size_t count) {
  Entries sum;
  for (int rank = 0; rank < P; ++rank)
    for (const auto& [index, value] : entries_of(rank, count)) sum[index] += value;
  return sum;
}

/// A sparse vector with 64-bit indices and memory for some entries.
struct Sparse {
  explicit Sparse(std::size_t count) : indices(200), values(200) {
    vector.count = count;
    vector.datatype = sparsecollFloat32;
    vector.indexType = sparsecollIndex64;
    vector.indices = indices.data();
    vector.values = values.data();
    vector.capacity = indices.size();
  }
  Entries entries() const {
    Entries found;
    for (std::size_t i = 0; i < vector.nnz; ++i) found[indices[i]] = values[i];
    return found;
  }
  sparsecollSparse_t vector = SPARSECOLL_SPARSE_INITIALIZER;
  std::vector<std::uint64_t> indices;
  std::vector<float> values;
};

TEST_CASE("a selection from more than 2^32 values") {
  const Ranks ranks(1, default_config());
  Zeros<float> x(kAbove32);
  const Entries want = entries_of(0, kAbove32);
  for (const auto& [index, value] : want) x[index] = value;
  Sparse top(kAbove32);
  REQUIRE(sparsecollTopk(x.data(), kAbove32, want.size(), sparsecollFloat32, nullptr, &top.vector,
                         ranks.comm(0), nullptr) == sparsecollSuccess);
  CHECK(top.entries() == want);
}

TEST_CASE("a reduce-scatter of more than 2^32 values") {
  const Ranks ranks(2, default_config());
  const Entries want = sum_of(2, kAbove32);
  CHECK(ranks.run("reduce-scatter", [&](int rank) -> std::string {
    Zeros<float> x(kAbove32);
    const Entries own = entries_of(rank, kAbove32);
    for (const auto& [index, value] : own) x[index] = value;
    Sparse region(kAbove32);
    const sparsecollResult_t result =
        sparseReduceScatter(x.data(), &region.vector, kAbove32, own.size(), sparsecollFloat32,
                            sparsecollSum, nullptr, nullptr, ranks.comm(rank), nullptr);
    if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
    const std::size_t middle = (kAbove32 + 1) / 2;
    const Entries mine(rank == 0 ? want.begin() : want.lower_bound(middle),
                       rank == 0 ? want.lower_bound(middle) : want.end());
    return region.entries() == mine ? "" : "another region";
  }) == "");
}

TEST_CASE("an allreduce of more than 2^31 values") {
  for (const Mode& mode : {kAuto, kGtopk}) {
    INFO(mode.name);
    const Ranks ranks(2, config_of(mode));
    const Entries want = sum_of(2, kAbove31);
    CHECK(ranks.run("allreduce", [&](int rank) -> std::string {
      Zeros<std::uint16_t> x(kAbove31), y(kAbove31);  // bfloat16: the upper half of a float
      const auto bfloat = [](float value) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        return static_cast<std::uint16_t>(bits >> 16);
      };
      const Entries own = entries_of(rank, kAbove31);
      for (const auto& [index, value] : own) x[index] = bfloat(value);
      const auto verb = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
      const sparsecollResult_t result =
          verb(x.data(), y.data(), kAbove31, want.size(), sparsecollBfloat16, sparsecollSum,
               nullptr, ranks.comm(rank), nullptr);
      if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
      for (std::size_t i = 0; i < kAbove31; ++i) {
        if (y[i] == 0 && want.find(i) == want.end()) continue;
        const auto entry = want.find(i);
        if (entry == want.end() || y[i] != bfloat(entry->second))
          return "value " + std::to_string(i) + " is wrong";
      }
      return "";
    }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::test
