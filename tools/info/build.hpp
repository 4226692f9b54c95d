// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sparsecoll::info {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The choices that CMake has made for this build.
struct Build {
  std::string version;  ///< of the project
  std::string soname;   ///< the number in the names of the shared libraries
  std::string type;
  std::string system;
  Pairs compilers;  ///< by language
  Pairs options;
  Pairs headers;  ///< versions of the libraries that it was compiled with
};

const Build& build();

}  // namespace sparsecoll::info
