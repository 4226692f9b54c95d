// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of state files: the contents can be read back, and any other file is refused.

#include <sys/stat.h>

#include "core/state_file_example.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"

namespace sparsecoll::unit {
namespace {

namespace fs = std::filesystem;
using test::content;
using test::Folder;
using test::put;

TEST_CASE("a file that was written can be read, and a second write replaces the first") {
  const Folder folder;
  Memory memory;
  const std::string path = folder.file("state");
  for (const uint64_t number : {uint64_t{7}, ~uint64_t{0}}) {
    const std::string words(number % 1000, 'x');
    write_example(path, number, words);
    const StateFile file(path, "example", memory);
    CHECK(file.value<uint64_t>("number") == number);
    CHECK(string_of(file.section("words")) == words);
    CHECK(file.section("nothing").size() == 0);
    CHECK(file.has("nothing"));
    CHECK(!file.has("more"));
    CHECK(folder.files() == 1);
  }
  CHECK(memory.bytes_in_use() == 0);
}

TEST_CASE("only its owner may read a state file") {
  const Folder folder;
  const mode_t before = ::umask(0);
  write_example(folder.file("state"), 1, "words");
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat(folder.file("state").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a changed, missing or added byte is detected") {
  const Folder folder;
  const std::string good = folder.file("good"), bad = folder.file("bad");
  write_example(good, 12345, "some words");
  const std::string sound = content(good);
  for (size_t at = 0; at < sound.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = sound;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      put(bad, changed);
      INFO("byte " << at << " ^ " << flip);
      CHECK(refusal(bad, sparsecollInvalidArgument, bad) == "");
    }
    put(bad, sound.substr(0, at));
    INFO("cut to " << at);
    CHECK(refusal(bad, sparsecollInvalidArgument, bad) == "");
  }
  put(bad, sound + "x");
  CHECK(refusal(bad, sparsecollInvalidArgument, "expected bytes") == "");
  put(bad, sound + sound);
  CHECK(refusal(bad, sparsecollInvalidArgument, "expected bytes") == "");
  put(bad, sound);
  CHECK(refusal(bad, sparsecollInvalidArgument, "") == "it was read");
}

TEST_CASE("files of another kind, and paths that are no file, are refused with the reason") {
  const Folder folder;
  const std::string path = folder.file("state");
  const uint64_t number = 1;
  const StateSection section = state_value("number", number);
  write_state_file(path, "residual", {&section, 1});
  CHECK(refusal(path, sparsecollInvalidArgument, "expected state of kind example, got residual") ==
        "");
  CHECK(refusal(folder.file("none"), sparsecollSystemError, "cannot open") == "");
  CHECK(refusal(folder.file(""), sparsecollInvalidArgument, "expected a file") == "");
  put(path, "");
  CHECK(refusal(path, sparsecollInvalidArgument, "at least") == "");
  put(path, std::string(1000, 'x'));
  CHECK(refusal(path, sparsecollInvalidArgument,
                "expected a file saved by sparsecollResidualSave") == "");
  write_example(path, 1, "words");
  std::string changed = content(path);
  changed.back() = 'x';
  put(path, changed);
  CHECK(refusal(path, sparsecollInvalidArgument, "(the file is damaged)") == "");
}

TEST_CASE("a section that is missing or of another length is refused") {
  const Folder folder;
  Memory memory;
  write_example(folder.file("state"), 1, "words");
  const StateFile file(folder.file("state"), "example", memory);
  CHECK_THROWS_AS(file.section("more"), Error);
  CHECK_THROWS_AS(file.value<uint32_t>("number"), Error);
  CHECK_THROWS_AS(file.sized("words", 6), Error);
  CHECK(file.sized("words", 5).size() == 5);
}

TEST_CASE("a failed write keeps the old file and leaves no temporary one") {
  const Folder folder;
  const std::string path = folder.file("state");
  fs::create_directory(path);  // a rename to it fails
  CHECK_THROWS_AS(write_example(path, 1, "words"), Error);
  CHECK(folder.files() == 1);
  CHECK_THROWS_AS(write_example(folder.file("none/state"), 1, "words"), Error);
  CHECK(folder.files() == 1);
}

TEST_CASE("a file that does not fit into memory is refused") {
  const Folder folder;
  write_example(folder.file("state"), 1, "words");
  Memory memory;
  memory.fail_at(1);
  CHECK_THROWS_AS(StateFile(folder.file("state"), "example", memory), std::bad_alloc);
}

/// Memory that keeps the size of its largest allocation.
class WatchedMemory final : public Memory {
 public:
  std::size_t largest() const { return largest_; }

 private:
  void* obtain(size_t bytes) override {
    largest_ = std::max(largest_, bytes);
    return std::aligned_alloc(kAlignment, bytes);
  }
  void give_up(void* at) noexcept override { std::free(at); }

  std::size_t largest_ = 0;
};

constexpr std::size_t kChunkLimit = std::size_t{1} << 21;

TEST_CASE("a large file that is none of these is refused by its first bytes") {
  const Folder folder;
  const std::string path = folder.file("zeros");
  put(path, "");
  fs::resize_file(path, std::uintmax_t{1} << 40);  // a hole: reading it would take hours
  WatchedMemory memory;
  CHECK_THROWS_AS(StateFile(path, "example", memory), Error);
  CHECK(memory.largest() <= kChunkLimit);
  write_example(path, 1, "words");
  fs::resize_file(path, std::uintmax_t{1} << 40);
  CHECK(refusal(path, sparsecollInvalidArgument, "expected bytes") == "");
}

TEST_CASE("checks take little memory, however long the sections are") {
  const Folder folder;
  const std::string path = folder.file("state");
  std::string words(5'000'001, 'x');
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<char>(i % 251);
  write_example(path, 1, words);
  WatchedMemory memory;
  const StateFile file(path, "example", memory);
  CHECK(memory.largest() <= kChunkLimit);
  CHECK(string_of(file.section("words")) == words);
  for (const std::size_t at : {words.size() - 1, words.size() / 2, std::size_t{0}}) {
    std::string changed = content(path);
    changed[changed.size() - words.size() + at] ^= 1;
    put(folder.file("bad"), changed);
    CHECK(refusal(folder.file("bad"), sparsecollInvalidArgument, "(the file is damaged)") == "");
  }
}

TEST_CASE("a section that changes after the checks is not returned") {
  const Folder folder;
  Memory memory;
  const std::string path = folder.file("state");
  write_example(path, 1, "words");
  const StateFile file(path, "example", memory);
  std::string changed = content(path);
  changed.back() = 'x';
  std::fstream(path, std::ios::in | std::ios::out) << changed;  // in the same file
  CHECK_THROWS_AS(file.section("words"), Error);
  CHECK(file.value<uint64_t>("number") == 1);
  fs::resize_file(path, 10);
  CHECK_THROWS_AS(file.section("words"), Error);
}

}  // namespace
}  // namespace sparsecoll::unit
