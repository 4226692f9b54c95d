// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests how the library finds NCCL in a process, and the error if it was built without NCCL.
// FAKE_NCCL is the path of a libnccl.so.2 that is compiled from fake_nccl.cpp.
// FAKE_NCCL_WITHOUT_RECV is the path of one that lacks ncclRecv.

#include <dlfcn.h>

#include <string>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "transport/nccl/results.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll::nccl {
namespace {

/// Returns the code and message of the error that `function` throws, or "".
template <class Function>
std::string error_text(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return std::to_string(error.code()) + " " + error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A library that is loaded as a module of Python loads it, so that only the module sees its
/// symbols.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
  ~LoadedLibrary() {
    if (handle_) dlclose(handle_);
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  explicit operator bool() const { return handle_; }
  void set_version(int code) { *static_cast<int*>(dlsym(handle_, "fake_nccl_version")) = code; }

 private:
  void* const handle_;
};

bool is_loaded() {
  void* const handle = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle;
}

// The cases run in this order, because a library that was found stays loaded.
TEST_CASE("the library uses the NCCL that the process has loaded, if it is new enough") {
  REQUIRE_FALSE(is_loaded());
  const std::string none = error_text([] { open_nccl_library(); });
  CHECK(contains(none, std::to_string(sparsecollInvalidUsage) + " nccl: "));
  CHECK(contains(none, "libnccl.so.2 is not loaded"));
  CHECK_FALSE(is_loaded());  // the attempt does not load it

  Library library{};
  {
    LoadedLibrary fake(FAKE_NCCL);
    REQUIRE(fake);
    library = open_nccl_library();
    CHECK(library.receive);
    CHECK(library.comm_shrink);
    fake.set_version(kOldestVersion);
    CHECK(error_text([&] { require_version(library); }) == "");
    fake.set_version(23203);
    CHECK(error_text([&] { require_version(library); }) == "");
    fake.set_version(22707);
    const std::string older = error_text([&] { require_version(library); });
    CHECK(contains(older, std::to_string(sparsecollInvalidUsage) + " nccl: "));
    CHECK(contains(older, "version 2.27.7, expected 2.28.0 or later"));
    fake.set_version(2804);  // older versions have another factor
    CHECK(contains(error_text([&] { require_version(library); }), "version 2.8.4, expected"));
  }
  // The module that loaded NCCL may unload it before communicators end.
  REQUIRE(is_loaded());
  CHECK(std::string(library.error_string(ncclSuccess)) == "a result of the fake");
}

TEST_CASE("an NCCL without a function is refused, and the message names the function") {
  REQUIRE(is_loaded());
  // This one is found first, because all modules see its symbols.
  REQUIRE(dlopen(FAKE_NCCL_WITHOUT_RECV, RTLD_NOW | RTLD_GLOBAL));
  const std::string error = error_text([] { open_nccl_library(); });
  CHECK(contains(error, "has no ncclRecv; expected version 2.28 or later"));
}

TEST_CASE("a library that was built without NCCL throws InvalidUsage") {
  const std::string error = error_text([] { make_nccl_transport(nullptr, Deadline()); });
  CHECK(error ==
        std::to_string(sparsecollInvalidUsage) + " nccl: this library was built without NCCL");
}

}  // namespace
}  // namespace sparsecoll::nccl
