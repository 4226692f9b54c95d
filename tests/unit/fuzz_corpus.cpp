// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// fuzz_corpus FOLDER: every file of the folder, whole, cut at each byte, and with each byte changed
// in a few ways, through the function that libFuzzer calls.
// fuzz_corpus --write FOLDER: the sound messages that the fuzzer starts from.

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/config.hpp"
#include "unit/messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using namespace sparsecoll;
using namespace sparsecoll::unit;
using Input = std::vector<uint8_t>;

/// Heap memory of just this size, so that AddressSanitizer sees a step beyond it.
void try_input(const Input& input) {
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

size_t try_around(const Input& input) {
  size_t tried = 1;
  try_input(input);
  for (size_t size = 0; size < input.size(); ++size, ++tried)
    try_input(Input(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)));
  for (size_t at = 0; at < input.size(); ++at) {
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
    tried += try_around(Input(std::istreambuf_iterator<char>(file), {}));
    ++files;
  }
  std::printf("%zu files, %zu inputs\n", files, tried);
  return files > 0 ? 0 : 1;
}

template <class T, class I, DataType kType = kOwnType<T>>
void write_message(const WireCase& shape, const fs::path& folder, const std::string& name) {
  uint8_t flags = (sizeof(T) == 8 ? 1 : 0) | (sizeof(I) == 8 ? 2 : 0);
  if (shape.expected == Representation::dense && shape.region.begin == 100) flags |= 4;
  if (kType == DataType::float16) flags |= 8;
  if (kType == DataType::bfloat16) flags |= 16;
  const uint64_t length = shape.region.length();
  Entries<T> entries = entries_of<T>(shape, 1);
  if (size_of(kType) == 2)
    for (auto& entry : entries) entry.value = static_cast<T>(entry.index % 7);
  const MessageBytes message = pack<T, I, kType>(entries, {shape.region})[0];
  std::ofstream file(folder / name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&flags), 1);
  file.write(reinterpret_cast<const char*>(&shape.region.begin), 8);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file.write(reinterpret_cast<const char*>(message.data()),
             static_cast<std::streamsize>(message.size()));
}

int write_folder(const fs::path& folder) {
  size_t number = 0;
  for (const WireCase& shape : wire_cases()) {
    if (shape.nnz > 400) continue;
    const std::string name = "-" + std::to_string(number++);
    if (number % 2 == 1 || shape.wide)
      write_message<float, uint64_t>(shape, folder, "sound" + name);
    else
      write_message<double, uint32_t>(shape, folder, "sound" + name);
    write_message<float, uint64_t, DataType::float16>(shape, folder, "float16" + name);
    if (!shape.wide)
      write_message<float, uint32_t, DataType::bfloat16>(shape, folder, "bfloat16" + name);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return read_folder(argv[1]);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) return write_folder(argv[2]);
  std::fprintf(stderr, "usage: fuzz_corpus [--write] FOLDER\n");
  return 2;
}
