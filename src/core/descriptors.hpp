// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sparsecoll {

/// Makes sure that this process can open so many file descriptors, beside those that others of
/// these objects need at the same time. For libraries that end the process when there are none
/// left.
class DescriptorsNeeded {
 public:
  /// Throws SystemError if there are fewer. `user` is who needs them.
  DescriptorsNeeded(size_t count, const char* user);
  ~DescriptorsNeeded();
  DescriptorsNeeded(const DescriptorsNeeded&) = delete;
  DescriptorsNeeded& operator=(const DescriptorsNeeded&) = delete;

 private:
  const size_t count_;
};

}  // namespace sparsecoll
