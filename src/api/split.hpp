// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "api/communicator.hpp"

namespace sparsecoll {

/// Returns the configuration of a communicator that is made of ranks of `parent`. Without `config`
/// it is the parent's, for any number of ranks. Throws InvalidArgument.
Config child_config(const Communicator& parent, const sparsecollConfig_t* config);

/// While it lives, an abort of the parent also aborts the child. A child is made in its scope.
class AbortedTogether {
 public:
  AbortedTogether(Communicator& parent, std::shared_ptr<Communicator> child) : parent_(parent) {
    parent.set_child(std::move(child));
  }
  ~AbortedTogether() { parent_.set_child(nullptr); }
  AbortedTogether(const AbortedTogether&) = delete;
  AbortedTogether& operator=(const AbortedTogether&) = delete;

 private:
  Communicator& parent_;
};

/// Calls Communicator::initialize() of a child. Adds to its errors that the numbers of ranks are
/// those in the child.
void* initialize_child(Communicator& child, const std::optional<Error>& problem,
                       const Deadline& deadline, uint64_t* committed = nullptr);

}  // namespace sparsecoll
