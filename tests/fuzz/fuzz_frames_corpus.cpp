// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Writes the messages that rank 0 receives in calls without faults, for fuzz_frames.

#include <cstring>
#include <fstream>
#include <string>

#include "calls/framed/channel.hpp"
#include "fuzz/fuzz_calls.hpp"
#include "fuzz/fuzz_corpus.hpp"

namespace sparsecoll::unit {

namespace {

void put(const FuzzRecord::Message& message, std::string& input) {
  FrameHeader header;
  std::memcpy(&header, message.bytes.data(), sizeof header);
  const size_t bytes = message.bytes.size() - sizeof header;
  const uint64_t form = uint64_t{header.kind} - 1 + ((header.sequence - 1) << kFuzzSequence);
  const FuzzFrame frame{static_cast<uint8_t>(form),
                        static_cast<uint8_t>(message.from - 1),
                        static_cast<uint8_t>(header.covered_first),
                        static_cast<uint8_t>(header.covered_count),
                        {static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes >> 8)}};
  input.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  input.append(reinterpret_cast<const char*>(message.bytes.data()) + sizeof header, bytes);
}

}  // namespace

int write_corpus(const std::filesystem::path& folder) {
  for (const int P : {2, 3}) {
    for (uint8_t call = 0; call < kFuzzCalls; ++call) {
      std::string input{static_cast<char>(call), static_cast<char>(P - 2)};
      for (const auto& message : record_calls(static_cast<FuzzCall>(call), P).messages)
        if (message.to == 0) put(message, input);
      const std::string name = "call-" + std::to_string(call) + "-" + std::to_string(P);
      std::ofstream(folder / name, std::ios::binary) << input;
    }
  }
  return 0;
}

}  // namespace sparsecoll::unit
