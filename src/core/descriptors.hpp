// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll {

/// Checks that this process can open `count` more file descriptors, beside those that other objects
/// of this class need at the same time. For libraries that end the process when none is left.
class DescriptorsNeeded {
 public:
  /// Throws SystemError if there are fewer. `user` names the part that needs them.
  DescriptorsNeeded(size_t count, const char* user);
  ~DescriptorsNeeded();
  DescriptorsNeeded(const DescriptorsNeeded&) = delete;
  DescriptorsNeeded& operator=(const DescriptorsNeeded&) = delete;

 private:
  const size_t count_;
};

}  // namespace sparsecoll
