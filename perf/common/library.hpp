// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/handles.hpp"
#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/runner.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// The algorithms of sparseAllreduce, by the words of --algo: auto, allgather, oktopk,
/// oktopk-reuse, topka2a, hierarchical, dense, auto-reordered.
std::vector<std::string> sparse_algorithms();
/// Ok-Topk with reused thresholds, under --algo.
inline constexpr const char* kReuse = "oktopk-reuse";
inline constexpr const char* kHierarchical = "hierarchical";
/// Auto with allowReordered = 1, under --algo.
inline constexpr const char* kReordered = "auto-reordered";
/// gtopkAllreduce under --algo.
inline constexpr const char* kGtopk = "gtopk";

/// sparseAlltoall under --algo.
inline constexpr const char* kAlltoall = "alltoall";

/// The library's contestants, each algorithm on a communicator of its own that lives as long as
/// this object, as a user's would: what a communicator learns in one call serves the next.
class Library {
 public:
  /// Of reused thresholds new ones are due in the first call of a shape and once more behind the
  /// calls that the options ask for: what is timed reuses them, and what is checked before and
  /// after gives the exact result.
  Library(Ranks& ranks, const Options& options, Storage& storage)
      : ranks_(ranks),
        storage_(storage),
        wire_(options.wire == "bf16" ? sparsecollWireBf16 : sparsecollWireNative),
        threshold_interval_(1 + options.warmup + options.iterations) {}

  /// Works on vectors in the storage, and is done when what is on its stream is.
  /// `name`: one of sparse_algorithms(), kGtopk or kAlltoall. Collective for a name's first use.
  template <class T>
  std::unique_ptr<Runner<T>> make(const std::string& name, const Task<T>& task);

  /// The one that contestants of this name use. Collective for a name's first use.
  const Communicator& communicator(const std::string& name);

 private:
  Ranks& ranks_;
  Storage& storage_;
  sparsecollWire_t wire_;
  int threshold_interval_;
  std::map<std::string, Communicator> communicators_;
};

}  // namespace sparsecoll::perf
