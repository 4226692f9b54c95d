// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Writes valid messages of every representation and data type, for fuzz_unpack.

#include <fstream>
#include <string>

#include "fuzz/fuzz_corpus.hpp"
#include "kernels/messages.hpp"

namespace sparsecoll::unit {

namespace {

namespace fs = std::filesystem;

template <class T, class I, DataType kType = kOwnType<T>>
void write_message(const WireCase& shape, const fs::path& path,
                   Precision precision = Precision::stored) {
  uint8_t flags = (kType == DataType::float64 ? 1 : 0) | (sizeof(I) == 8 ? 2 : 0);
  if (shape.expected == Representation::dense && shape.region.begin == 100) flags |= 4;
  if (kType == DataType::float16) flags |= 8;
  if (kType == DataType::bfloat16) flags |= 16;
  if (kType == DataType::int32) flags |= 32;
  if (kType == DataType::int64) flags |= 64;
  const uint64_t length = shape.region.length();
  Entries<T> entries;
  for (const auto& each : entries_of<double>(shape, 1)) {
    const bool any = kType == DataType::float32 || kType == DataType::float64;
    const auto small = static_cast<double>(each.index % 7);
    entries.push_back({each.index, static_cast<T>(any ? each.value : small)});
  }
  const MessageBytes message = pack<T, I, kType>(entries, {shape.region}, precision)[0];
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&flags), 1);
  file.write(reinterpret_cast<const char*>(&shape.region.begin), 8);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file.write(reinterpret_cast<const char*>(message.data()),
             static_cast<std::streamsize>(message.size()));
}

/// Writes a plain message, shorter than those that pack() writes.
void write_plain(uint64_t entries, const Region& region, uint8_t flags, const fs::path& path) {
  const uint64_t length = region.length();
  const WireHeader header{kWireMagic,
                          kWireVersion,
                          static_cast<uint8_t>(Representation::plain),
                          static_cast<uint8_t>(DataType::float32),
                          0,
                          entries,
                          length};
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const auto& field) {
    file.write(reinterpret_cast<const char*>(&field), sizeof field);
  };
  put(flags);
  put(region.begin);
  put(length);
  put(header);
  for (uint64_t j = 0; j < entries + entries % 2; ++j)
    put(static_cast<uint32_t>(j < entries ? j * (length - 1) / entries : 0));
  for (uint64_t j = 0; j < entries; ++j) put(static_cast<float>(j));
}

}  // namespace

int write_corpus(const fs::path& folder) {
  const uint8_t wide = 2, vectors = 128;
  write_plain(37, {5, 100005}, 0, folder / "plain");
  write_plain(37, {5, 100005}, vectors, folder / "plain-vectors");
  write_plain(50, {uint64_t{9} << 32, uint64_t{10} << 32}, wide, folder / "plain-wide");
  size_t number = 0;
  for (const WireCase& shape : wire_cases()) {
    if (shape.nnz > 400) continue;
    const std::string name = "-" + std::to_string(number++);
    if (number % 2 == 1 || shape.wide)
      write_message<float, uint64_t>(shape, folder / ("sound" + name));
    else
      write_message<double, uint32_t>(shape, folder / ("sound" + name));
    write_message<float, uint64_t, DataType::float16>(shape, folder / ("float16" + name));
    write_message<int64_t, uint64_t, DataType::int64>(shape, folder / ("int64" + name));
    write_message<double, uint64_t>(shape, folder / ("rounded64" + name), Precision::bfloat16);
    if (!shape.wide)
      write_message<float, uint32_t>(shape, folder / ("rounded32" + name), Precision::bfloat16);
    write_message<double, uint64_t>(shape, folder / ("scaled64" + name), Precision::int8);
    if (!shape.wide)
      write_message<float, uint32_t>(shape, folder / ("scaled32" + name), Precision::int8);
    if (!shape.wide)
      write_message<int32_t, uint32_t, DataType::int32>(shape, folder / ("int32" + name));
    if (!shape.wide)
      write_message<float, uint32_t, DataType::bfloat16>(shape, folder / ("bfloat16" + name));
  }
  return 0;
}

}  // namespace sparsecoll::unit
