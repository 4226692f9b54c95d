// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Calls unpack_all() on any bytes. It must not access memory outside the buffers, and returns
// either a fault or entries with strictly increasing indices in the region. Runs under libFuzzer,
// or in fuzz_corpus.cpp without it.
//
// Input: a byte of flags, begin and length of the region as uint64, and the message. Flags: bit 0
// float64, bit 3 float16, bit 4 bfloat16, bit 5 int32, bit 6 int64 (the first that is set, else
// float32); bit 1 64-bit indices; bit 2 a dense output; bit 7 vector instructions of this machine.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/messages.hpp"

namespace {

using namespace sparsecoll;
using namespace sparsecoll::unit;

constexpr size_t kPrefix = 17;
constexpr uint64_t kLongestDense = 4096;

struct Shape {
  Region region;
  bool wide;   ///< 64-bit indices
  bool dense;  ///< dense output
};

template <class T, DataType kType>
std::string try_message(const MessageBytes& message, const Shape& shape) {
  if (shape.dense) {
    const Region region{0, shape.region.length() % kLongestDense};
    return check_harmless(unpack_dense<T, kType>(message, region), region);
  }
  return check_harmless(shape.wide ? unpack<T, uint64_t, kType>(message, shape.region)
                                   : unpack<T, uint32_t, kType>(message, shape.region),
                        shape.region);
}

/// Returns a region whose indices the index type can represent, as in the library.
Region region_of(uint64_t begin, uint64_t length, bool wide) {
  const uint64_t end = wide ? ~uint64_t{0} : uint64_t{1} << 32;
  begin = begin <= end ? begin : begin % (end + (wide ? 0 : 1));
  return {begin, begin + std::min(length, end - begin)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPrefix) return 0;
  const bool wide = data[0] & 2, dense = data[0] & 4;
  best_loops() = data[0] & 128;
  uint64_t begin, length;
  std::memcpy(&begin, data + 1, 8);
  std::memcpy(&length, data + 9, 8);
  MessageBytes message(size - kPrefix);
  if (!message.empty()) std::memcpy(message.data(), data + kPrefix, message.size());
  const Shape shape{region_of(begin, length, wide), wide, dense};
  std::string wrong;
  if (data[0] & 1)
    wrong = try_message<double, DataType::float64>(message, shape);
  else if (data[0] & 8)
    wrong = try_message<float, DataType::float16>(message, shape);
  else if (data[0] & 16)
    wrong = try_message<float, DataType::bfloat16>(message, shape);
  else if (data[0] & 32)
    wrong = try_message<int32_t, DataType::int32>(message, shape);
  else if (data[0] & 64)
    wrong = try_message<int64_t, DataType::int64>(message, shape);
  else
    wrong = try_message<float, DataType::float32>(message, shape);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
