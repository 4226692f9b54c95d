// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a scenario on the host and on devices. The results must be equal bit for bit.

#include <memory>

#include "devices/device_array.hpp"
#include "devices/device_ranks.hpp"
#include "support/compare.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::devices {

/// The counterpart of DeviceArray on the host.
template <class T>
class HostArray {
 public:
  explicit HostArray(std::size_t n) : values_(n + 1), n_(n) {}
  explicit HostArray(const std::vector<T>& values) : HostArray(values.size()) { put(values); }
  T* get() { return values_.data(); }
  void put(const std::vector<T>& values, cudaStream_t = nullptr) {
    std::copy(values.begin(), values.end(), values_.begin());
  }
  std::vector<T> read(std::size_t n, cudaStream_t = nullptr) const {
    return {values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  std::vector<T> read(cudaStream_t = nullptr) const { return read(n_); }

 private:
  std::vector<T> values_;
  std::size_t n_;
};

/// The host as backend of a scenario.
struct Host {
  static constexpr bool kDevice = false;
  template <class T>
  using Array = HostArray<T>;
  struct Stream {
    operator cudaStream_t() const { return nullptr; }
  };
};

/// A device as backend of a scenario.
struct Gpu {
  static constexpr bool kDevice = true;
  template <class T>
  using Array = DeviceArray<T>;
  using Stream = OwnStream;
};

/// A sparse vector with 32-bit indices in memory of the backend. With blocks, `count` and
/// `capacity` are in blocks, and entries are those of their values.
template <class Backend, class T>
class BackendSparse {
 public:
  BackendSparse(std::uint64_t count, std::size_t capacity, std::size_t block = 1)
      : indices_(capacity), values_(capacity * block), nnz_(1), block_(block) {
    sparse_.count = count;
    sparse_.blockSize = block;
    sparse_.capacity = capacity;
    sparse_.indices = indices_.get();
    sparse_.values = values_.get();
    sparse_.indexType = sparsecollIndex32;
    sparse_.datatype = test::kDatatype<T>;
  }
  BackendSparse(std::uint64_t count, const oracle::Sparse<T>& entries, std::size_t block = 1)
      : BackendSparse(count, entries.size() / block, block) {
    std::vector<std::uint32_t> index;
    std::vector<T> value;
    for (std::size_t j = 0; j < entries.size(); ++j) {
      if (j % block == 0) index.push_back(static_cast<std::uint32_t>(entries[j].index / block));
      value.push_back(entries[j].value);
    }
    indices_.put(index);
    values_.put(value);
    sparse_.nnz = index.size();
  }
  /// On a device, moves the length to device memory. The host then knows only `bound`.
  void count_on_device(std::size_t bound) {
    if (!Backend::kDevice) return;
    nnz_.put({sparse_.nnz});
    sparse_.nnz = bound;
    sparse_.nnzOnDevice = nnz_.get();
  }

  sparsecollSparse_t* get() { return &sparse_; }
  oracle::Sparse<T> entries(cudaStream_t stream) const {
    const std::size_t n = sparse_.nnzOnDevice ? nnz_.read(stream)[0] : sparse_.nnz;
    const auto index = indices_.read(n, stream);
    const auto value = values_.read(n * block_, stream);
    oracle::Sparse<T> all;
    for (std::size_t j = 0; j < n * block_; ++j)
      all.push_back({std::uint64_t{index[j / block_]} * block_ + j % block_, value[j]});
    return all;
  }

 private:
  typename Backend::template Array<std::uint32_t> indices_;
  typename Backend::template Array<T> values_;
  typename Backend::template Array<std::size_t> nnz_;
  std::size_t block_;
  sparsecollSparse_t sparse_ = SPARSECOLL_SPARSE_INITIALIZER;
};

/// The results of one rank as words, for comparison.
class Record {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    add(std::uint64_t{values.size()});
    for (const T& value : values) add(std::uint64_t{test::bits(value)});
  }
  template <class T>
  void add(const oracle::Sparse<T>& entries) {
    add(std::uint64_t{entries.size()});
    for (const auto& entry : entries) {
      add(entry.index);
      add(std::uint64_t{test::bits(entry.value)});
    }
  }
  void add(std::uint64_t word) { words_.push_back(word); }
  /// Adds the statistics of the last call that do not depend on time.
  void add_stats(sparsecollComm_t comm) {
    sparsecollStats_t stats = SPARSECOLL_STATS_INITIALIZER;
    sparsecollCommGetStats(comm, sparsecollStatsLast, &stats);
    add(std::uint64_t{stats.selected});
    add(std::uint64_t{stats.result});
    // Over NCCL the messages of host and device differ.
    for (const std::size_t each : {stats.bytesSent, stats.bytesReceived, stats.messagesSent})
      if (!over_nccl()) add(std::uint64_t{each});
    add(static_cast<std::uint64_t>(stats.algorithm));
  }
  bool operator==(const Record& other) const = default;
  std::size_t size() const { return words_.size(); }

 private:
  std::vector<std::uint64_t> words_;
};

/// One rank of a scenario: its communicator and its results.
struct RankContext {
  sparsecollComm_t comm;
  int rank;
  int P;
  Record& record;

  /// Throws an exception with the library's message if `got` is not `want`.
  void expect(sparsecollResult_t got, sparsecollResult_t want = sparsecollSuccess) const {
    const std::string wrong = test::expect("the call", got, want, comm);
    if (!wrong.empty()) throw std::runtime_error(wrong);
  }
  /// Checks the result of a verb. On a communicator with a queue, waits for the call first.
  void done(sparsecollResult_t got, sparsecollResult_t want = sparsecollSuccess) const {
    if (!test::queued_run()) return expect(got, want);
    expect(got);
    expect(sparsecollCommSynchronize(comm), want);
  }
};

/// Creates ranks with device memory or host memory.
template <bool kDevice>
auto make_ranks(int P, const sparsecollConfig_t& config) {
  if constexpr (kDevice)
    return std::make_unique<DeviceRanks>(P, config, On::own);
  else
    return std::make_unique<test::Ranks>(P, config);
}

/// Runs scenario(Backend{}, RankContext) on the host and on devices. Returns "" if the results are
/// equal.
template <class Scenario>
std::string compare_backends(const sparsecollConfig_t& config, int P, const Scenario& scenario) {
  P = std::min(P, max_ranks());
  std::vector<Record> records[2];
  const auto run = [&](auto backend, std::vector<Record>& of_ranks) {
    const auto ranks = make_ranks<decltype(backend)::kDevice>(P, config);
    of_ranks.resize(static_cast<std::size_t>(P));
    return ranks->run(decltype(backend)::kDevice ? "on devices" : "on the host", [&](int rank) {
      scenario(backend,
               RankContext{ranks->comm(rank), rank, P, of_ranks[static_cast<std::size_t>(rank)]});
      return std::string();
    });
  };
  std::string verdict = run(Host{}, records[0]);
  if (verdict.empty()) verdict = run(Gpu{}, records[1]);
  for (std::size_t r = 0; verdict.empty() && r < records[0].size(); ++r)
    if (records[0][r].size() == 0 || records[0][r] != records[1][r])
      verdict = "rank " + std::to_string(r) + ": the device's record differs from the host's";
  return verdict;
}

}  // namespace sparsecoll::devices
