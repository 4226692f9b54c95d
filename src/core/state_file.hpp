// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/memory.hpp"

namespace sparsecoll {

/// A named section of a state file. The writer decides what its bytes mean. Names have at most 23
/// characters and are unique in a file.
struct StateSection {
  const char* name;
  ConstBytes bytes;
};

/// Returns a section with the bytes of a plain struct, which must outlive it.
template <class T>
StateSection state_value(const char* name, const T& value) {
  static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
  return {name, std::as_bytes(std::span(&value, 1))};
}

/// Deleted: the section would outlive a temporary.
template <class T>
StateSection state_value(const char* name, const T&& value) = delete;

/// Writes the sections to `path`, so that at any time either the old file or the complete new one
/// is there: writes a file beside it (FileReplacement), calls fsync, renames. `kind` names the type
/// of state in at most 15 characters. Throws InvalidArgument if something other than a regular file
/// is at `path`, and SystemError with the reason. Then the old file is still there, unless the
/// directory could not be synchronized at the end: then the new file is there, but may not survive
/// a crash of the machine.
void write_state_file(const std::string& path, const char* kind,
                      std::span<const StateSection> sections);

/// The place to which a state is saved: a file, or memory of the caller, which gets the same bytes.
class StateTarget {
 public:
  explicit StateTarget(std::string path) : path_(std::move(path)) {}
  /// `*bytes` is the capacity of the memory, and later the size of the state. A null `memory` asks
  /// for the size only.
  StateTarget(void* memory, size_t* bytes)
      : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}

  /// Returns whether these sections, whose bytes may still be undefined, shall be written. For
  /// memory, sets the size. Throws InvalidArgument if they do not fit.
  bool wants(std::span<const StateSection> sections) const;
  /// Writes the sections. Throws as write_state_file() does.
  void write(const char* kind, std::span<const StateSection> sections) const;

 private:
  std::string path_;
  std::byte* memory_ = nullptr;
  size_t* bytes_ = nullptr;  ///< null: a file
};

/// An open state file, or one in memory, that is valid: its format, version, kind, lengths and
/// checksums are right. The reader judges the content of the sections. The checks read it in
/// chunks, so that the memory that they take does not depend on what the file claims.
class StateFile {
 public:
  /// `memory` outlives this object. Throws InvalidArgument if the file is not a valid one of this
  /// kind, SystemError if it cannot be read, and std::bad_alloc.
  StateFile(const std::string& path, const char* kind, Memory& memory);
  /// Opens a state in memory: the bytes of a file, which outlive this object.
  StateFile(ConstBytes bytes, const char* kind, Memory& memory);

  bool has(const char* name) const { return find(name) != nullptr; }
  /// Returns the bytes of a section. Throws InvalidArgument if there is none with this name.
  size_t size(const char* name) const { return get(name).size; }
  /// Reads a section. Throws InvalidArgument, too, if it has changed since it was checked.
  Block section(const char* name) const;
  /// Reads a section of exactly `bytes` bytes.
  Block sized(const char* name, size_t bytes) const;
  /// Reads a section of exactly sizeof(T) bytes as a T.
  template <class T>
  T value(const char* name) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(name, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }

  /// Throws InvalidArgument with the name of the file or argument, what was expected and what it
  /// has.
  template <class Expected, class Got>
  [[noreturn]] void refuse(const char* what, const Expected& expected, const Got& got) const {
    fail(sparsecollInvalidArgument, name_, ": expected ", what, " ", expected, ", got ", got);
  }

 private:
  struct Section {
    std::string name;
    size_t at;  ///< offset of the section in the file
    size_t size;
    uint64_t checksum;
  };
  /// Reads the table of sections, and checks all of a file of this size.
  void open(const char* kind, size_t size);
  const Section* find(const char* name) const;
  const Section& get(const char* name) const;
  void check_size(const char* name, size_t bytes) const;
  /// Throws InvalidArgument unless this is the checksum of the section.
  void check_sum(const Section& section, uint64_t sum) const;
  void check_sections() const;
  /// Fills `to` with a section of its size.
  void read(const char* name, Bytes to) const;
  void read_at(size_t offset, Bytes to) const;

  std::string path_;  ///< path of the file; empty without a file
  std::string name_;  ///< name of the file or argument in errors
  Memory& memory_;
  OpenFile file_;
  ConstBytes bytes_;  ///< the bytes of a state in memory
  std::vector<Section> sections_;
};

}  // namespace sparsecoll
