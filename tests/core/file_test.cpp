// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of how files are opened and replaced, by the example of state files: nothing but a regular
// file is opened or replaced, and writers that are killed or run at the same time do no harm.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/state_file_example.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/ranks.hpp"

namespace sparsecoll::unit {
namespace {

namespace fs = std::filesystem;
using test::content;
using test::Folder;
using test::put;

/// A folder with one of everything that is no regular file; a device only for root. (A test must
/// not write to devices outside: a library that replaced them would damage the machine.)
class OtherKinds {
 public:
  struct Kind {
    std::string path;
    std::string name;
  };

  OtherKinds() : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    fs::create_directory(path("directory"));
    ::mkfifo(path("pipe").c_str(), 0600);
    has_device_ = ::mknod(path("device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = path("socket");
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("no socket " + name);
  }
  ~OtherKinds() { ::close(socket_); }
  OtherKinds(const OtherKinds&) = delete;
  OtherKinds& operator=(const OtherKinds&) = delete;

  std::string path(const std::string& name) const { return folder_.file(name); }
  std::vector<Kind> all() const {
    std::vector<Kind> kinds{
        {path("directory"), "a directory"}, {path("pipe"), "a FIFO"}, {path("socket"), "a socket"}};
    if (has_device_) kinds.push_back({path("device"), "a character device"});
    return kinds;
  }
  std::size_t files() const { return folder_.files(); }

 private:
  const Folder folder_;
  const int socket_;
  bool has_device_;
};

TEST_CASE("a path that is no regular file is refused at once by what it is, never opened") {
  const test::HangGuard guard("other kinds of files", 1, std::chrono::seconds(60));
  const OtherKinds kinds;
  std::vector<OtherKinds::Kind> all = kinds.all();
  all.push_back({"/dev/zero", "a character device"});
  for (const auto& [path, name] : all) {
    INFO(path);
    CHECK(refusal(path, sparsecollInvalidArgument,
                  "path '" + path + "': expected a file, got " + name) == "");
    const std::string link = kinds.path("link");
    fs::create_symlink(path, link);
    CHECK(refusal(link, sparsecollInvalidArgument, "expected a file, got " + name) == "");
    fs::remove(link);
  }
}

/// Returns the error of a write; "" if there is none.
std::string write_error(const std::string& path, sparsecollResult_t code) {
  try {
    write_example(path, 1, "words");
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
}

TEST_CASE("a write replaces regular files only, and creates no file elsewhere") {
  const test::HangGuard guard("other kinds of files", 1, std::chrono::seconds(60));
  const OtherKinds kinds;
  const std::string file = kinds.path("file"), link = kinds.path("link");
  put(file, "mine");
  fs::create_symlink(file, link);
  fs::create_symlink(kinds.path("nothing"), kinds.path("dangling"));
  const std::size_t before = kinds.files();
  std::vector<OtherKinds::Kind> all = kinds.all();
  all.push_back({link, "a symbolic link"});
  all.push_back({kinds.path("dangling"), "a symbolic link"});
  for (const auto& [path, name] : all) {
    INFO(path);
    CHECK(write_error(path, sparsecollInvalidArgument) ==
          "path '" + path + "': expected a regular file or none, got " + name);
  }
  CHECK(kinds.files() == before);
  CHECK(fs::is_symlink(link));
  CHECK(content(file) == "mine");
  CHECK(fs::is_fifo(kinds.path("pipe")));
}

TEST_CASE("a process that is killed while it writes leaves the old or the new file") {
  const Folder folder;
  const std::string path = folder.file("state"), old(1'000'000, 'o'), other(1'000'000, 'n');
  write_example(path, 1, old);
  int left = 0;
  // More of them where a process that was just made gets no CPU before it is killed.
  for (int kill_at = 0; kill_at < 120 || (left == 0 && kill_at < 2000); ++kill_at) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (;;) {
        write_example(path, 1, other);
        write_example(path, 1, old);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 131 * kill_at % 5000) *
                                (1 + kill_at / 120));
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    Memory memory;
    const std::string words = string_of(StateFile(path, "example", memory).section("words"));
    CHECK((words == old || words == other));
    REQUIRE(folder.files() <= 2);
    left += folder.files() == 2 ? 1 : 0;
  }
  CHECK(left > 0);  // otherwise no kill hit a write
  write_example(path, 1, old);
  CHECK(folder.files() == 1);
}

std::string part_of(const std::string& path) { return path + ".sparsecoll-part"; }

TEST_CASE("what a killed process left is removed, whatever its mode, and nothing else is") {
  const Folder folder;
  const std::string path = folder.file("state"), part = part_of(path);
  for (const mode_t mode : {0600, 0666}) {
    put(part, std::string(100'000, 'x'));
    fs::permissions(part, static_cast<fs::perms>(mode));
    CHECK(write_error(path, sparsecollSuccess) == "");
    CHECK(folder.files() == 1);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  // A link in the place of what was left would lead the write to another file.
  put(folder.file("mine"), "mine");
  fs::create_symlink(folder.file("mine"), part);
  CHECK(write_error(path, sparsecollSystemError) ==
        "cannot create '" + part + "': there is a symbolic link");
  CHECK(content(folder.file("mine")) == "mine");
  fs::remove(part);
  fs::create_hard_link(folder.file("mine"), part);
  CHECK(write_error(path, sparsecollSuccess) == "");
  CHECK(content(folder.file("mine")) == "mine");
  CHECK(folder.files() == 2);
}

TEST_CASE("a file that another process writes now is left to it") {
  const Folder folder;
  const std::string path = folder.file("state"), part = part_of(path);
  write_example(path, 7, "old");
  put(part, "half of a file");
  const int other = ::open(part.c_str(), O_RDWR);
  REQUIRE(::flock(other, LOCK_EX) == 0);
  CHECK(write_error(path, sparsecollSystemError) ==
        "cannot write '" + path + "': another process or thread writes it now, as '" + part + "'");
  CHECK(content(part) == "half of a file");
  Memory memory;
  CHECK(StateFile(path, "example", memory).value<uint64_t>("number") == 7);
  CHECK(write_error(folder.file("other"), sparsecollSuccess) == "");  // in the same folder
  ::close(other);
  CHECK(write_error(path, sparsecollSuccess) == "");
  CHECK(folder.files() == 2);
}

TEST_CASE("writers at the same time leave complete files, and tell who was in the way") {
  const Folder folder;
  constexpr int kWriters = 6, kWrites = 15;
  const std::string shared = folder.file("shared");
  write_example(shared, 0, std::string(1000, 'a'));
  const std::string verdict = test::run_threads("writers", kWriters, [&](int writer) {
    const std::string own = folder.file(writer);
    std::string wrong;
    for (int i = 0; i < kWrites; ++i) {
      const std::string words(static_cast<std::size_t>(1000 + writer), 'a');
      write_example(own, static_cast<uint64_t>(i), words);
      try {
        write_example(shared, static_cast<uint64_t>(writer), words);
      } catch (const Error& error) {
        if (error.code() != sparsecollSystemError) wrong += text(error.what(), "; ");
      }
      if (refusal(shared, sparsecollSuccess, "") != "it was read")
        wrong += refusal(shared, sparsecollSuccess, "") + "; ";
    }
    return wrong;
  });
  CHECK(verdict == "");
  Memory memory;
  const StateFile file(shared, "example", memory);
  CHECK(file.section("words").size() == 1000 + file.value<uint64_t>("number"));
  for (int writer = 0; writer < kWriters; ++writer)
    CHECK(StateFile(folder.file(writer), "example", memory).value<uint64_t>("number") ==
          kWrites - 1);
  CHECK(folder.files() == kWriters + 1);
}

}  // namespace
}  // namespace sparsecoll::unit
