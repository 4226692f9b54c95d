// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "core/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
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
  uint64_t bytes;     ///< bytes of the whole file
  uint64_t checksum;  ///< checksum of header (with 0 here) and entries
};
struct SectionEntry {
  char name[24];
  uint64_t bytes;
  uint64_t checksum;
};

uint64_t checksum_of(FileHeader header, std::span<const SectionEntry> entries) {
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

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

std::vector<SectionEntry> entries_of(std::span<const StateSection> sections) {
  std::vector<SectionEntry> entries;
  for (const StateSection& section : sections) {
    SectionEntry entry{};
    put_name(entry.name, section.name);
    entry.bytes = section.bytes.size();
    entry.checksum = checksum(section.bytes);
    entries.push_back(entry);
  }
  return entries;
}

size_t size_of_state(std::span<const StateSection> sections) {
  size_t bytes = sizeof(FileHeader) + sections.size() * sizeof(SectionEntry);
  for (const StateSection& section : sections) bytes += section.bytes.size();
  return bytes;
}

FileHeader header_of(const char* kind, std::span<const StateSection> sections,
                     std::span<const SectionEntry> entries) {
  FileHeader header{};
  header.magic = kFileMagic;
  header.version = kFileVersion;
  put_name(header.kind, kind);
  header.sections = entries.size();
  header.bytes = size_of_state(sections);
  header.checksum = checksum_of(header, entries);
  return header;
}

}  // namespace

void write_state_file(const std::string& path, const char* kind,
                      std::span<const StateSection> sections) {
  const std::vector<SectionEntry> entries = entries_of(sections);
  const FileHeader header = header_of(kind, sections, entries);

  // The directory is opened first, so that a failure happens while the old file is still there.
  const std::string folder = directory_of(path);
  const OpenFile directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0) cannot("open", folder);
  FileReplacement file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(std::as_bytes(std::span(entries)));
  for (const StateSection& section : sections) file.write(section.bytes);
  file.sync();
  file.replace();
  // A rename survives a crash only after the directory was synchronized.
  while (::fsync(directory.number()) != 0)
    if (errno != EINTR) cannot("sync", folder);
}

bool StateTarget::wants(std::span<const StateSection> sections) const {
  if (!bytes_) return true;
  const size_t capacity = std::exchange(*bytes_, size_of_state(sections));
  if (!memory_) return false;
  if (capacity < *bytes_)
    fail(sparsecollInvalidArgument, "bytes: expected a capacity of at least ", *bytes_, ", got ",
         capacity);
  return true;
}

void StateTarget::write(const char* kind, std::span<const StateSection> sections) const {
  if (!bytes_) return write_state_file(path_, kind, sections);
  const std::vector<SectionEntry> entries = entries_of(sections);
  const FileHeader header = header_of(kind, sections, entries);
  std::byte* at = memory_;
  const auto put = [&](ConstBytes bytes) { at = std::copy(bytes.begin(), bytes.end(), at); };
  put(std::as_bytes(std::span(&header, 1)));
  put(std::as_bytes(std::span(entries)));
  for (const StateSection& section : sections) put(section.bytes);
}

namespace {

size_t size_of_file(const OpenFile& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) cannot("look at", path);
  return static_cast<size_t>(status.st_size);
}

std::string damaged(uint64_t checksum) { return text(checksum, " (the file is damaged)"); }

}  // namespace

StateFile::StateFile(const std::string& path, const char* kind, Memory& memory)
    : path_(path), name_(text("path '", path, "'")), memory_(memory), file_(open_regular(path)) {
  open(kind, size_of_file(file_, path));
}

StateFile::StateFile(ConstBytes bytes, const char* kind, Memory& memory)
    : name_("buffer"), memory_(memory), file_(-1), bytes_(bytes) {
  open(kind, bytes.size());
}

void StateFile::open(const char* kind, size_t size) {
  FileHeader header;
  if (size < sizeof header) refuse("at least this many bytes:", sizeof header, size);
  read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != kFileMagic)
    refuse("a file saved by", "sparsecollResidualSave or sparsecollPushSumSave", "something else");
  if (header.version != kFileVersion) refuse("version", kFileVersion, header.version);
  if (header.bytes != size) refuse("bytes", header.bytes, size);
  const size_t most =
      std::min<size_t>(kMostSections, (size - sizeof header) / sizeof(SectionEntry));
  if (header.sections > most) refuse("sections, at most", most, header.sections);
  std::vector<SectionEntry> entries(header.sections);
  read_at(sizeof header, std::as_writable_bytes(std::span(entries)));
  const uint64_t sum = checksum_of(header, entries);
  if (header.checksum != sum) refuse("checksum", header.checksum, damaged(sum));
  if (get_name(header.kind) != kind) refuse("state of kind", kind, get_name(header.kind));
  size_t at = sizeof header + entries.size() * sizeof(SectionEntry);
  for (const SectionEntry& entry : entries) {
    if (entry.bytes > size - at) refuse("bytes in a section, at most", size - at, entry.bytes);
    sections_.push_back({get_name(entry.name), at, entry.bytes, entry.checksum});
    at += entry.bytes;
  }
  if (at != size) refuse("bytes behind the sections:", 0, size - at);
  check_sections();
}

void StateFile::check_sections() const {
  constexpr size_t kChunk = size_t{1} << 20;
  size_t longest = 0;
  for (const Section& section : sections_) longest = std::max(longest, section.size);
  const Block chunk(memory_, std::min(longest, kChunk));
  for (const Section& section : sections_) {
    uint64_t sum = mix(section.size);
    for (size_t done = 0; done < section.size;) {
      const Bytes bytes(chunk.data(), std::min(section.size - done, kChunk));
      read_at(section.at + done, bytes);
      sum += checksum_of_chunk(bytes, done);
      done += bytes.size();
    }
    check_sum(section, sum);
  }
}

void StateFile::check_sum(const Section& section, uint64_t sum) const {
  if (section.checksum != sum) refuse("checksum", section.checksum, damaged(sum));
}

void StateFile::read_at(size_t offset, Bytes to) const {
  if (path_.empty()) {
    std::copy_n(bytes_.data() + offset, to.size(), to.data());
    return;
  }
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.number(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot("read", path_);
    if (got == 0) fail(sparsecollSystemError, "'", path_, "' became shorter while it was read");
    offset += static_cast<size_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
}

const StateFile::Section* StateFile::find(const char* name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

const StateFile::Section& StateFile::get(const char* name) const {
  const Section* found = find(name);
  if (!found) refuse("a section named", name, "none");
  return *found;
}

void StateFile::check_size(const char* name, size_t bytes) const {
  if (const size_t found = get(name).size; found != bytes)
    refuse(text("bytes in section ", name).c_str(), bytes, found);
}

void StateFile::read(const char* name, Bytes to) const {
  check_size(name, to.size());
  const Section& section = get(name);
  read_at(section.at, to);
  check_sum(section, checksum(to));  // another process may have changed the file meanwhile
}

Block StateFile::section(const char* name) const { return sized(name, get(name).size); }

Block StateFile::sized(const char* name, size_t bytes) const {
  check_size(name, bytes);
  Block block(memory_, bytes);
  read(name, {block.data(), bytes});
  return block;
}

}  // namespace sparsecoll
