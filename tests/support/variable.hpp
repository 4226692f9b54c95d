// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace sparsecoll::test {

/// Sets an environment variable while the scope lasts, and then restores it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (was_set_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool was_set_ = false;
  std::string before_;
};

/// Returns how many lines of the file contain these words.
inline int lines_with(const std::string& file, const std::string& words) {
  std::ifstream lines(file);
  int found = 0;
  for (std::string line; std::getline(lines, line);)
    found += line.find(words) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace sparsecoll::test
