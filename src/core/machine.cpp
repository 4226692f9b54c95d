// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/machine.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <span>
#include <string>

#include "core/checksum.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

uint64_t number_of(const std::string& known) {
  return checksum(std::as_bytes(std::span(known.data(), known.size())));
}

}  // namespace

std::string host_name() {
  std::array<char, 257> name{};  // POSIX: at most 255 characters; a truncated name may lack its end
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  return name.data();
}

uint64_t machine_number() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return number_of(boot.empty() ? "host " + host_name() : "boot " + boot);
}

uint64_t node_number() {
  struct stat network {};
  const bool known = stat("/proc/self/ns/net", &network) == 0;
  return number_of(text(
      machine_number(), " ",
      known ? std::to_string(network.st_dev) + " " + std::to_string(network.st_ino) : host_name()));
}

}  // namespace sparsecoll
