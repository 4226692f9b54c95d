// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "core/types.hpp"

namespace sparsecoll {

/// An open file.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;

  /// Returns the descriptor; negative if the file could not be opened.
  int number() const { return number_; }
  /// Returns false if the system reports an error of earlier writes.
  bool close();
  /// Gives up the ownership. Returns the descriptor.
  int release();

 private:
  int number_;
};

/// Throws SystemError: "cannot WHAT 'PATH': " and the reason in errno.
[[noreturn]] void cannot(const char* what, const std::string& path);

/// Returns what a file of this mode is: "a regular file", "a FIFO".
const char* kind_of_file(mode_t mode);
/// Returns null if a file may be written at this path: there is nothing, or a regular file.
/// Otherwise returns the kind of what is there. Does not follow a symbolic link.
const char* irreplaceable(const std::string& path);

/// Opens a file for reading. Never waits for a writer, as the open of a FIFO would. Throws
/// InvalidArgument if the path is no regular file, SystemError.
OpenFile open_regular(const std::string& path);

/// Opens a file, which is created if there is none, to append lines. Never waits for a reader.
/// Throws InvalidArgument, with `setting`, which names the file, if the path is neither a regular
/// file nor a character device, such as a terminal or /dev/null, or if it cannot be opened.
OpenFile open_for_lines(const char* setting, const std::string& path);

/// A file that is written beside another one and replaces it once it is complete. Its name is that
/// of the other one with kPart behind it. A process that is killed leaves it; the next replacement
/// of the same path removes it. Of two at a time for the same path, also by different processes,
/// the second one is refused, if the file system has locks (flock). Replacements of different paths
/// are independent.
class FileReplacement {
 public:
  static constexpr const char* kPart = ".sparsecoll-part";

  /// Creates the file, with mode 0600. Throws InvalidArgument if there is something other than a
  /// regular file at `path`, a symbolic link for example; SystemError.
  explicit FileReplacement(std::string path);
  /// Removes the file unless it has replaced the other one.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  /// Throws SystemError, as the other methods do.
  void write(ConstBytes bytes) const;
  /// Waits until the disk has it.
  void sync() const;
  void replace();

 private:
  /// Returns the file, locked; without a descriptor if another process interfered.
  OpenFile create() const;
  void remove_leftover() const;

  const std::string path_, part_;
  OpenFile file_{-1};
  bool replaced_ = false;
};

}  // namespace sparsecoll
