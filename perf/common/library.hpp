// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/algorithm_words.hpp"
#include "common/handles.hpp"
#include "common/options.hpp"
#include "common/ranks.hpp"
#include "common/runner.hpp"
#include "common/storage.hpp"

namespace sparsecoll::perf {

/// Makes runners of the library's algorithms. Each algorithm has a communicator of its own, which
/// lives as long as this object: as in a user's program, calls use the caches of earlier calls.
class Library {
 public:
  /// With reused thresholds, the first call of a shape computes new ones, and so does the first
  /// call after the timed ones. Hence timed calls reuse thresholds, and checked calls give exact
  /// results.
  Library(Ranks& ranks, const Options& options, Storage& storage)
      : ranks_(ranks),
        storage_(storage),
        wire_(options.wire == "bf16"   ? sparsecollWireBf16
              : options.wire == "int8" ? sparsecollWireInt8
                                       : sparsecollWireNative),
        threshold_interval_(1 + options.warmup + options.iterations) {}

  /// Makes a runner whose vectors are in the storage. A call is complete once the storage's stream
  /// is. `name`: one of sparse_algorithms(), kGtopk or kAlltoall. Collective at the first use of a
  /// name.
  template <class T>
  std::unique_ptr<Runner<T>> make(const std::string& name, const Task<T>& task);

  /// Returns the numbers of the ranks' nodes, as Sharded sees them. Collective at the first use.
  std::vector<int> nodes();

  /// Returns the communicator of the runners of this name. Collective at the first use of a name.
  const Communicator& communicator(const std::string& name);

 private:
  Ranks& ranks_;
  Storage& storage_;
  sparsecollWire_t wire_;
  int threshold_interval_;
  std::map<std::string, Communicator> communicators_;
};

}  // namespace sparsecoll::perf
