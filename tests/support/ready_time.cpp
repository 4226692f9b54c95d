// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/ready_time.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace sparsecoll::test {

double ReadyTime::longest() const {
  double longest = 0;
  for (const auto& [thread, seconds] : read()) {
    const auto before = before_.find(thread);
    longest = std::max(longest, seconds - (before == before_.end() ? 0 : before->second));
  }
  return longest;
}

std::map<std::string, double> ReadyTime::read() {
  std::map<std::string, double> all;
  std::error_code gone;  // a thread may end meanwhile
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    double ran = 0, ready = 0;
    std::ifstream file(each.path() / "schedstat");
    if (file >> ran >> ready) all[each.path().filename()] = ready * 1e-9;
  }
  return all;
}

}  // namespace sparsecoll::test
