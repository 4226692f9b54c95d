// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of state files: the contents can be read back, and any other file is refused.

#include "core/state_file.hpp"

#include <sys/stat.h>

#include "support/catch.hpp"
#include "support/folder.hpp"

namespace sparsecoll::unit {
namespace {

namespace fs = std::filesystem;
using test::content;
using test::Folder;
using test::put;

ConstBytes bytes_of(const std::string& string) {
  return std::as_bytes(std::span(string.data(), string.size()));
}

std::string string_of(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes a file with three sections: a number, a text, and an empty one.
void write_example(const std::string& path, uint64_t number, const std::string& words) {
  const StateSection sections[] = {
      state_value("number", number), {"words", bytes_of(words)}, {"nothing", {}}};
  write_state_file(path, "example", sections);
}

/// Reads the file. Returns "" if this fails with the given code and a message that contains
/// `words`.
std::string refusal(const std::string& path, sparsecollResult_t code, const std::string& words) {
  Memory memory;
  try {
    const StateFile file(path, "example", memory);
    return "it was read";
  } catch (const Error& error) {
    if (error.code() != code) return text("error ", error.code(), ": ", error.what());
    const std::string what = error.what();
    return what.find(words) == std::string::npos ? what : "";
  }
}

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
    CHECK(file.section("nothing").empty());
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

}  // namespace
}  // namespace sparsecoll::unit
