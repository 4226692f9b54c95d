// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Writes files of the library, complete and as sections, for fuzz_state.

#include <fstream>
#include <string>

#include "core/state_file.hpp"
#include "fuzz/fuzz_corpus.hpp"
#include "fuzz/fuzz_state.hpp"
#include "support/folder.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::unit {

namespace {

std::string sections_of(const std::string& path, const char* kind) {
  Memory memory;
  const StateFile file(path, kind, memory);
  std::string input;
  for (size_t name = 0; name < std::size(kStateSections); ++name) {
    if (!file.has(kStateSections[name])) continue;
    const Block bytes = file.section(kStateSections[name]);
    input += {static_cast<char>(name), static_cast<char>(bytes.size()),
              static_cast<char>(bytes.size() >> 8)};
    input.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return input;
}

void write(const std::filesystem::path& folder, uint8_t flags, const std::string& content) {
  const std::string input = static_cast<char>(flags) + content;
  std::ofstream(folder / ("state-" + std::to_string(flags)), std::ios::binary) << input;
}

}  // namespace

int write_corpus(const std::filesystem::path& folder) {
  const uint8_t all[] = {0, kStateReuse, kStateGossip, kStateGossip | kStateCompressed,
                         kStateGossip | kStateCompressed | kStateDelay};
  for (const uint8_t flags : all) {
    const test::Folder saved;
    const StatePair pair(flags);
    const std::string verdict = test::run_threads("save", 2, [&](int rank) -> std::string {
      sparsecollResult_t result = flags & kStateGossip ? pair.gossip(rank) : pair.reduce(rank);
      if (result == sparsecollSuccess) result = pair.save(rank, saved.file(std::to_string(rank)));
      return result == sparsecollSuccess ? "" : sparsecollGetLastError(pair.comm(rank));
    });
    if (!verdict.empty()) return 1;
    write(folder, flags,
          sections_of(saved.file("0"), flags & kStateGossip ? "push-sum" : "residual"));
    write(folder, flags | kStateRaw, test::content(saved.file("0")));
  }
  return 0;
}

}  // namespace sparsecoll::unit
