// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/machine.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <span>
#include <string>

#include "core/checksum.hpp"

namespace sparsecoll {

uint64_t machine_number() {
  std::array<char, 257> name{};  // POSIX: at most 255 characters; a truncated name may lack its end
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string known = name.data(), boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  known += '\n' + boot;
  return checksum(std::as_bytes(std::span(known)));
}

}  // namespace sparsecoll
