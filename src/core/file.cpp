// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace sparsecoll {

OpenFile::~OpenFile() { close(); }
OpenFile::OpenFile(OpenFile&& other) noexcept : number_(other.release()) {}
OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
bool OpenFile::close() { return number_ < 0 || ::close(release()) == 0; }
int OpenFile::release() { return std::exchange(number_, -1); }

void cannot(const char* what, const std::string& path) {
  fail(sparsecollSystemError, "cannot ", what, " '", path, "': ", std::strerror(errno));
}

const char* kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    case S_IFSOCK:
      return "a socket";
  }
  return "something unknown";
}

const char* irreplaceable(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return nullptr;
  return kind_of_file(status.st_mode);
}

namespace {

void check_regular(const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode))
    fail(sparsecollInvalidArgument, "path '", path, "': expected a file, got ",
         kind_of_file(status.st_mode));
}

/// Locks a file for as long as it is open. Returns false if it is locked already. Does nothing on a
/// file system without locks.
bool lock(const OpenFile& file) {
  while (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return true;
  }
  return true;
}

/// Returns whether the open file is still the one with this name.
bool has_name(const OpenFile& file, const std::string& path) {
  struct stat own {
  }, named{};
  return ::fstat(file.number(), &own) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

}  // namespace

OpenFile open_regular(const std::string& path) {
  struct stat status {};
  // Opening a device may have an effect, and a socket cannot be opened.
  if (::stat(path.c_str(), &status) == 0) check_regular(status, path);
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) cannot("open", path);
  if (::fstat(file.number(), &status) != 0) cannot("look at", path);
  check_regular(status, path);
  return file;
}

OpenFile open_for_lines(const char* setting, const std::string& path) {
  const auto check = [&](const struct stat& status) {
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
      fail(sparsecollInvalidArgument, setting, ": expected a file, a terminal or /dev/null, got ",
           kind_of_file(status.st_mode), ", '", path, "'");
  };
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) check(status);
  OpenFile file(::open(path.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0)
    fail(sparsecollInvalidArgument, setting, ": cannot open '", path, "': ", std::strerror(errno));
  check(status);
  const int flags = ::fcntl(file.number(), F_GETFL);
  ::fcntl(file.number(), F_SETFL, flags & ~O_NONBLOCK);  // a slow terminal must not lose lines
  return file;
}

FileReplacement::FileReplacement(std::string path) : path_(std::move(path)), part_(path_ + kPart) {
  constexpr int kAttempts = 100;  // another process may interfere a few times
  if (const char* const kind = irreplaceable(path_))
    fail(sparsecollInvalidArgument, "path '", path_, "': expected a regular file or none, got ",
         kind);
  for (int attempt = 0; file_.number() < 0; ++attempt) {
    if (attempt == kAttempts)
      fail(sparsecollSystemError, "cannot create '", part_, "': others write it, too");
    file_ = create();
  }
}

OpenFile FileReplacement::create() const {
  OpenFile file(::open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.number() >= 0)
    return lock(file) && has_name(file, part_) ? std::move(file) : OpenFile(-1);
  if (errno != EEXIST) cannot("open", part_);
  remove_leftover();
  return OpenFile(-1);
}

void FileReplacement::remove_leftover() const {
  if (const char* const kind = irreplaceable(part_))
    fail(sparsecollSystemError, "cannot create '", part_, "': there is ", kind);
  const OpenFile old(::open(part_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (old.number() < 0 && errno == ENOENT) return;
  if (old.number() < 0) cannot("open", part_);
  if (!lock(old))
    fail(sparsecollSystemError, "cannot write '", path_, "': another process or thread writes it ",
         "now, as '", part_, "'");
  if (has_name(old, part_) && ::unlink(part_.c_str()) != 0) cannot("remove", part_);
}

FileReplacement::~FileReplacement() {
  if (!replaced_ && has_name(file_, part_)) ::unlink(part_.c_str());
}

void FileReplacement::write(ConstBytes bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot("write", part_);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void FileReplacement::sync() const {
  while (::fsync(file_.number()) != 0)
    if (errno != EINTR) cannot("sync", part_);
}

void FileReplacement::replace() {
  if (!has_name(file_, part_))
    fail(sparsecollSystemError, "cannot rename '", part_, "': another process has removed it");
  if (::rename(part_.c_str(), path_.c_str()) != 0) cannot("rename to", path_);
  replaced_ = true;
}

}  // namespace sparsecoll
