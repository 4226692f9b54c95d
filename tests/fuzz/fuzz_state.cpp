// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Loads files of any content as residuals and push-sum states. The load fails, or all ranks can
// make calls with the loaded state. Runs under libFuzzer, or in fuzz_corpus.cpp without it.
//
// Input: a byte of flags, then a complete file, or its sections. A section is a byte for its name,
// two for its length, and its bytes; the test adds header, rank and checksums, so that the library
// parses the contents.

#include "fuzz/fuzz_state.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/checksum.hpp"
#include "support/ranks.hpp"

namespace {

using namespace sparsecoll;
using namespace sparsecoll::unit;

constexpr int kRanks = 2;

/// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content) : number_(::memfd_create("state", 0)) {
    if (number_ < 0 ||
        ::write(number_, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

struct Section {
  std::string name;
  std::string bytes;
};

std::vector<Section> sections_of(ConstBytes input) {
  std::vector<Section> all;
  while (input.size() >= 3) {
    const auto name = static_cast<size_t>(input[0]) % std::size(kStateSections);
    const size_t claimed = static_cast<size_t>(input[1]) + 256 * static_cast<size_t>(input[2]);
    const ConstBytes bytes = input.subspan(3, std::min(claimed, input.size() - 3));
    all.push_back(
        {kStateSections[name], {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    input = input.subspan(3 + bytes.size());
  }
  return all;
}

template <class T>
void append(std::string& file, const T& value) {
  file.append(reinterpret_cast<const char*>(&value), sizeof value);
}

ConstBytes bytes_of(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

/// Returns a valid file with these sections.
std::string state_file_of(const std::vector<Section>& sections, const char* kind) {
  std::string entries, contents;
  for (const Section& section : sections) {
    std::string name(section.name);
    name.resize(24);
    entries += name;
    append(entries, uint64_t{section.bytes.size()});
    append(entries, checksum(bytes_of(section.bytes)));
    contents += section.bytes;
  }
  const auto header = [&](uint64_t sum) {
    std::string head("SPCSTATE");
    append(head, uint64_t{2});  // version
    std::string padded(kind);
    padded.resize(16);
    head += padded;
    append(head, uint64_t{sections.size()});
    append(head, uint64_t{56 + entries.size() + contents.size()});
    append(head, sum);
    return head;
  };
  const uint64_t sum = mix(checksum(bytes_of(header(0)))) + checksum(bytes_of(entries));
  return header(sum) + entries + contents;
}

/// Sets the rank in the contents.
void set_rank(std::vector<Section>& sections, int rank) {
  const auto value = static_cast<uint64_t>(rank);
  for (Section& each : sections) {
    const size_t at = each.name == "tensor" ? 16 : each.name == "shape" ? 0 : std::string::npos;
    if (at != std::string::npos && each.bytes.size() >= at + sizeof value)
      std::memcpy(each.bytes.data() + at, &value, sizeof value);
  }
}

std::string file_for(int rank, uint8_t flags, ConstBytes input) {
  if (flags & kStateRaw) return {reinterpret_cast<const char*>(input.data()), input.size()};
  std::vector<Section> sections = sections_of(input);
  set_rank(sections, rank);
  return state_file_of(sections, flags & kStateGossip ? "push-sum" : "residual");
}

bool allowed(sparsecollResult_t load) {
  return load == sparsecollSuccess || load == sparsecollInvalidArgument;
}

/// Makes calls after both ranks loaded a file. Returns "" or the error.
std::string make_calls(const StatePair& pair, int rank, uint8_t flags) {
  const sparsecollResult_t result = flags & kStateGossip ? pair.gossip(rank) : pair.reduce(rank);
  return result == sparsecollSuccess ? "" : sparsecollGetLastError(pair.comm(rank));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const uint8_t flags = data[0];
  const ConstBytes input = std::as_bytes(std::span(data, size)).subspan(1);
  const StatePair pair(flags);
  bool both = true;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string bytes = file_for(rank, flags, input);
    const MemoryFile file(bytes);
    const sparsecollResult_t load = pair.load(rank, file.path());
    if (!allowed(load) || pair.load_from(rank, bytes) != load) {
      std::fprintf(stderr, "load: %s\n", sparsecollGetLastError(pair.comm(rank)));
      std::abort();
    }
    both = both && load == sparsecollSuccess;
  }
  if (!both) return 0;
  const std::string verdict = test::run_threads(
      "after a load", kRanks, [&](int rank) { return make_calls(pair, rank, flags); });
  if (verdict.empty()) return 0;
  std::fprintf(stderr, "%s\n", verdict.c_str());
  std::abort();
}
