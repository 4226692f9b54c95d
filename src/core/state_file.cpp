// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/checksum.hpp"

namespace sparsecoll {

namespace {

static_assert(std::endian::native == std::endian::little, "state files are little-endian");

constexpr uint64_t kFileMagic = 0x4554415453435053;  // "SPCSTATE"
constexpr uint64_t kFileVersion = 2;
constexpr uint64_t kMostSections = 4096;

/// A file has this header, one entry for each section, and then the sections.
struct FileHeader {
  uint64_t magic;
  uint64_t version;
  char kind[16];
  uint64_t sections;
  uint64_t bytes;     ///< of the whole file
  uint64_t checksum;  ///< of header (with 0 here) and entries
};
struct Entry {
  char name[24];
  uint64_t bytes;
  uint64_t checksum;
};

uint64_t checksum_of(FileHeader header, std::span<const Entry> entries) {
  header.checksum = 0;
  return mix(checksum(std::as_bytes(std::span(&header, 1)))) + checksum(std::as_bytes(entries));
}

template <size_t N>
void put_name(char (&field)[N], const char* name) {
  if (std::strlen(name) >= N) fail(sparsecollInternalError, "name too long: ", name);
  std::strncpy(field, name, N);
}

template <size_t N>
std::string get_name(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

[[noreturn]] void cannot(const char* what, const std::string& path) {
  fail(sparsecollSystemError, "cannot ", what, " '", path, "': ", std::strerror(errno));
}

/// An open file.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int number() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

void write_all(const OpenFile& file, ConstBytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot("write", path);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void sync(const OpenFile& file, const std::string& path) {
  while (::fsync(file.number()) != 0)
    if (errno != EINTR) cannot("sync", path);
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

/// Removes the temporary file unless it was renamed.
struct Temporary {
  std::string path;
  ~Temporary() {
    if (!path.empty()) ::unlink(path.c_str());
  }
};

std::vector<Entry> entries_of(std::span<const StateSection> sections) {
  std::vector<Entry> entries;
  for (const StateSection& section : sections) {
    Entry entry{};
    put_name(entry.name, section.name);
    entry.bytes = section.bytes.size();
    entry.checksum = checksum(section.bytes);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace

void write_state_file(const std::string& path, const char* kind,
                      std::span<const StateSection> sections) {
  const std::vector<Entry> entries = entries_of(sections);
  FileHeader header{};
  header.magic = kFileMagic;
  header.version = kFileVersion;
  put_name(header.kind, kind);
  header.sections = entries.size();
  header.bytes = sizeof header + entries.size() * sizeof(Entry);
  for (const Entry& entry : entries) header.bytes += entry.bytes;
  header.checksum = checksum_of(header, entries);

  // Opened first, so that the usual failures happen while the old file is still there.
  const std::string folder = directory_of(path);
  const OpenFile directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0) cannot("open", folder);
  std::string name = path + ".XXXXXX";
  OpenFile file(::mkstemp(name.data()));  // mode 0600
  if (file.number() < 0) cannot("create", name);
  Temporary temporary{name};
  write_all(file, std::as_bytes(std::span(&header, 1)), name);
  write_all(file, std::as_bytes(std::span(entries)), name);
  for (const StateSection& section : sections) write_all(file, section.bytes, name);
  sync(file, name);
  if (!file.close()) cannot("close", name);
  if (::rename(name.c_str(), path.c_str()) != 0) cannot("rename to", path);
  temporary.path.clear();
  sync(directory, folder);  // a rename survives a crash once the directory is on the disk
}

namespace {

Block read_whole(const std::string& path, Memory& memory) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) cannot("open", path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) cannot("look at", path);
  if (!S_ISREG(status.st_mode))
    fail(sparsecollInvalidArgument, "path '", path, "': expected a file, got something else");
  Block content(memory, static_cast<size_t>(status.st_size));
  for (size_t at = 0; at < content.size();) {
    const ssize_t got = ::read(file.number(), content.data() + at, content.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot("read", path);
    if (got == 0) fail(sparsecollSystemError, "'", path, "' became shorter while it was read");
    at += static_cast<size_t>(got);
  }
  return content;
}

std::string damaged(uint64_t checksum) { return text(checksum, " (the file is damaged)"); }

}  // namespace

StateFile::StateFile(const std::string& path, const char* kind, Memory& memory)
    : path_(path), content_(read_whole(path, memory)) {
  ConstBytes rest(content_.data(), content_.size());
  FileHeader header;
  if (rest.size() < sizeof header) refuse("at least this many bytes:", sizeof header, rest.size());
  std::memcpy(&header, rest.data(), sizeof header);
  rest = rest.subspan(sizeof header);
  if (header.magic != kFileMagic)
    refuse("a file saved by", "sparsecollResidualSave or sparsecollPushSumSave", "something else");
  if (header.version != kFileVersion) refuse("version", kFileVersion, header.version);
  if (header.bytes != content_.size()) refuse("bytes", header.bytes, content_.size());
  if (header.sections > kMostSections || header.sections * sizeof(Entry) > rest.size())
    refuse("sections, at most", rest.size() / sizeof(Entry), header.sections);
  std::vector<Entry> entries(header.sections);
  std::copy_n(rest.data(), header.sections * sizeof(Entry),
              std::as_writable_bytes(std::span(entries)).data());
  rest = rest.subspan(header.sections * sizeof(Entry));
  const uint64_t sum = checksum_of(header, entries);
  if (header.checksum != sum) refuse("checksum", header.checksum, damaged(sum));
  if (get_name(header.kind) != kind) refuse("state of kind", kind, get_name(header.kind));
  for (const Entry& entry : entries) {
    if (entry.bytes > rest.size()) refuse("bytes in a section, at most", rest.size(), entry.bytes);
    const ConstBytes bytes = rest.first(entry.bytes);
    if (const uint64_t own = checksum(bytes); entry.checksum != own)
      refuse("checksum", entry.checksum, damaged(own));
    sections_.push_back({get_name(entry.name), bytes});
    rest = rest.subspan(entry.bytes);
  }
  if (!rest.empty()) refuse("bytes behind the sections:", 0, rest.size());
}

const StateFile::Section* StateFile::find(const char* name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

ConstBytes StateFile::section(const char* name) const {
  const Section* found = find(name);
  if (!found) refuse("a section named", name, "none");
  return found->bytes;
}

ConstBytes StateFile::sized(const char* name, size_t bytes) const {
  const ConstBytes found = section(name);
  if (found.size() != bytes) refuse(text("bytes in section ", name).c_str(), bytes, found.size());
  return found;
}

}  // namespace sparsecoll
