// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/descriptors.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/file.hpp"

namespace sparsecoll {

namespace {

std::atomic<size_t> needed{0};

}  // namespace

DescriptorsNeeded::DescriptorsNeeded(size_t count, const char* user) : count_(count) {
  const size_t all = needed += count_;
  try {
    std::vector<OpenFile> opened;
    opened.reserve(all);
    while (opened.size() < all) {
      opened.emplace_back(eventfd(0, EFD_CLOEXEC));
      if (opened.back().number() < 0)
        fail(sparsecollSystemError, user, " needs ", all,
             " file descriptors, this process can open ", opened.size() - 1, ": ",
             std::strerror(errno), "; raise the limit (ulimit -n)");
    }
  } catch (...) {
    needed -= count_;
    throw;
  }
}

DescriptorsNeeded::~DescriptorsNeeded() { needed -= count_; }

}  // namespace sparsecoll
