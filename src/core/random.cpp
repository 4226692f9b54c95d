// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace sparsecoll {

std::array<uint64_t, 2> random_secret() {
  std::array<uint64_t, 2> secret{};
  ssize_t got = -1;
  do got = getrandom(secret.data(), sizeof secret, 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof secret))
    fail(sparsecollSystemError, "getrandom: ", std::strerror(errno));
  return secret;
}

}  // namespace sparsecoll
