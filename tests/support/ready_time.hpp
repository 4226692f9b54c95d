// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace sparsecoll::test {

/// Measures how long threads of this process were ready to run, and did not.
class ReadyTime {
 public:
  ReadyTime() : before_(read()) {}
  /// Returns the seconds of the thread that waited longest since the object was made; 0 where the
  /// system does not count them.
  double longest() const;

 private:
  static std::map<std::string, double> read();
  std::map<std::string, double> before_;  ///< by thread
};

}  // namespace sparsecoll::test
