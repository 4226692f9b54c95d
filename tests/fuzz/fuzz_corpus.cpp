// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// fuzz_corpus FOLDER: runs the fuzz target on every file of the folder, complete, cut at each byte,
// and with each byte changed in several ways.
// fuzz_corpus --write FOLDER: writes the valid inputs from which the fuzzer starts.

#include "fuzz/fuzz_corpus.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using namespace sparsecoll;
using namespace sparsecoll::unit;
using Input = std::vector<uint8_t>;

/// Runs the target on a copy of exact size, so that AddressSanitizer detects an access beyond its
/// end.
void try_input(const Input& input) {
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

size_t try_variants(const Input& input) {
  size_t tried = 1;
  try_input(input);
  const size_t step = 1 + input.size() / 1024;  // skips bytes of long inputs
  for (size_t size = 0; size < input.size(); size += step, ++tried)
    try_input(Input(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)));
  for (size_t at = 0; at < input.size(); at += step) {
    for (const int mask : {1, 0x10, 0x80, 0xff}) {
      Input changed(input);
      changed[at] ^= static_cast<uint8_t>(mask);
      try_input(changed);
      ++tried;
    }
    if (test::small_run()) at += 3;
  }
  return tried;
}

int read_folder(const fs::path& folder) {
  size_t files = 0, tried = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    tried += try_variants(Input(std::istreambuf_iterator<char>(file), {}));
    ++files;
  }
  std::printf("%zu files, %zu inputs\n", files, tried);
  return files > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return read_folder(argv[1]);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) return write_corpus(argv[2]);
  std::fprintf(stderr, "usage: fuzz_corpus [--write] FOLDER\n");
  return 2;
}
