// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// How NCCL is found in a process, and what a library without it says. FAKE_NCCL is the path of a
// libnccl.so.2 that fake_nccl.cpp makes, FAKE_NCCL_WITHOUT_RECV that of one from which a call is
// missing.

#include <dlfcn.h>

#include <string>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "transport/nccl/results.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll::nccl {
namespace {

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return std::to_string(error.code()) + " " + error.what();
  }
  return "";
}

bool contains(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

/// As a module of Python loads it: its symbols are for that module alone.
class Opened {
 public:
  explicit Opened(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  ~Opened() {
    if (handle_) dlclose(handle_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  explicit operator bool() const { return handle_; }
  void be_version(int code) { *static_cast<int*>(dlsym(handle_, "fake_nccl_version")) = code; }

 private:
  void* const handle_;
};

bool is_loaded() {
  void* const handle = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle;
}

/// In this order: a library that was found stays.
TEST_CASE("NCCL is the one that the process has, is whole and new enough") {
  REQUIRE_FALSE(is_loaded());
  const std::string none = refusal([] { open_nccl_library(); });
  CHECK(contains(none, std::to_string(sparsecollInvalidUsage) + " nccl: "));
  CHECK(contains(none, "libnccl.so.2 is not loaded"));
  CHECK_FALSE(is_loaded());  // nothing came of the attempt

  Library library{};
  {
    Opened fake(FAKE_NCCL);
    REQUIRE(fake);
    library = open_nccl_library();
    CHECK(library.receive);
    fake.be_version(kOldestVersion);
    CHECK(refusal([&] { require_version(library); }) == "");
    fake.be_version(23203);
    CHECK(refusal([&] { require_version(library); }) == "");
    fake.be_version(22707);
    const std::string older = refusal([&] { require_version(library); });
    CHECK(contains(older, std::to_string(sparsecollInvalidUsage) + " nccl: "));
    CHECK(contains(older, "version 2.27.7, expected 2.28.0 or later"));
    fake.be_version(2804);  // as versions were counted then
    CHECK(contains(refusal([&] { require_version(library); }), "version 2.8.4, expected"));
  }
  // Whoever loaded it may be done with it before communicators are.
  REQUIRE(is_loaded());
  CHECK(std::string(library.error_string(ncclSuccess)) == "a result of the fake");
}

TEST_CASE("a library from which a call is missing is refused by name") {
  REQUIRE(is_loaded());
  // In front of the one above, because it is there for everybody.
  REQUIRE(dlopen(FAKE_NCCL_WITHOUT_RECV, RTLD_NOW | RTLD_GLOBAL));
  const std::string refused = refusal([] { open_nccl_library(); });
  CHECK(contains(refused, "has no ncclRecv; expected version 2.28 or later"));
}

TEST_CASE("a library that was built without NCCL says so") {
  const std::string refused = refusal([] { make_nccl_transport(nullptr, Deadline()); });
  CHECK(refused ==
        std::to_string(sparsecollInvalidUsage) + " nccl: this library was built without NCCL");
}

}  // namespace
}  // namespace sparsecoll::nccl
