// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/memory.hpp"

namespace sparsecoll {

/// A named found_section of a state file; the bytes are the writer's. Names have at most 23
/// characters and occur once in a file.
struct StateSection {
  const char* name;
  ConstBytes bytes;
};

/// The bytes of a plain struct, as a section.
template <class T>
StateSection state_value(const char* name, const T& value) {
  static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
  return {name, std::as_bytes(std::span(&value, 1))};
}

/// The section would outlive a temporary.
template <class T>
StateSection state_value(const char* name, const T&& value) = delete;

/// Writes the sections to `path` so that there is always either the old file or the whole new one:
/// a temporary file beside it (path.XXXXXX, mode 0600), fsync, rename. `kind` says what it is the
/// state of, at most 15 characters. Throws SystemError with the reason; the old file is still there
/// then, unless the directory could not be synced in the end: the new file is there then, but might
/// not outlive a crash of the machine.
void write_state_file(const std::string& path, const char* kind,
                      std::span<const StateSection> sections);

/// A state file that was read and found sound: format, version, kind, lengths and checksums are
/// right. What the sections say is the reader's to judge.
class StateFile {
 public:
  /// Throws InvalidArgument for a file that is no sound one of this kind, SystemError when it
  /// cannot be read, std::bad_alloc.
  StateFile(const std::string& path, const char* kind, Memory& memory);

  const std::string& path() const { return path_; }
  bool has(const char* name) const { return find(name) != nullptr; }
  /// Throws InvalidArgument when there is no such section.
  ConstBytes section(const char* name) const;
  /// The same of exactly sizeof(T) bytes.
  template <class T>
  T value(const char* name) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, sized(name, sizeof value).data(), sizeof value);
    return value;
  }
  /// The same of exactly `bytes` bytes.
  ConstBytes sized(const char* name, size_t bytes) const;

  /// Refuses the file: InvalidArgument that names it, what was expected and what it has.
  template <class Expected, class Got>
  [[noreturn]] void refuse(const char* what, const Expected& expected, const Got& got) const {
    fail(sparsecollInvalidArgument, "path '", path_, "': expected ", what, " ", expected, ", got ",
         got);
  }

 private:
  struct Section {
    std::string name;
    ConstBytes bytes;
  };
  const Section* find(const char* name) const;

  std::string path_;
  Block content_;
  std::vector<Section> sections_;
};

}  // namespace sparsecoll
