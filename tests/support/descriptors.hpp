// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <vector>

namespace sparsecoll::test {

/// Returns how many descriptors this process has open.
inline long open_descriptors() {
  return static_cast<long>(
             std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})) -
         1;
}

/// While it exists, this process can open only `more` further descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    std::vector<int> taken;
    for (int i = 0; i <= more; ++i) taken.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    getrlimit(RLIMIT_NOFILE, &usual_);
    rlimit few = usual_;
    few.rlim_cur = static_cast<rlim_t>(taken.back());
    setrlimit(RLIMIT_NOFILE, &few);
    for (const int each : taken) close(each);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &usual_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit usual_{};
};

}  // namespace sparsecoll::test
