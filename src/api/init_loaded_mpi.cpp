// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// sparsecollCommInitMpiFint() of libsparsecoll.so: loads libsparsecoll_mpi.so and calls the
// function of the same name there. So programs without MPI need no libmpi, and programs that get
// MPI communicators from elsewhere, such as Python's, link this library only.
#include <dlfcn.h>

#include <filesystem>

#include "api/bridge.hpp"

using namespace sparsecoll;

namespace {

using InitMpiFint = decltype(&sparsecollCommInitMpiFint);

/// Loads libsparsecoll_mpi.so from the folder of this library, or else from where the run-time
/// linker finds it. It stays loaded, because communicators use it. The run-time linker refuses
/// another version (cmake/sparsecoll.map.in).
void* load() {
  const std::string name = text("libsparsecoll_mpi.so.", SPARSECOLL_VERSION / 10000);
  static const char here = 0;
  Dl_info own{};
  std::filesystem::path beside;
  if (dladdr(&here, &own) && own.dli_fname)
    beside = std::filesystem::path(own.dli_fname).replace_filename(name);
  std::error_code ignored;
  const bool found = !beside.empty() && std::filesystem::exists(beside, ignored);
  void* const library = dlopen(found ? beside.c_str() : name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(sparsecollSystemError, "cannot load the library of communicators over MPI: ", dlerror());
  return library;
}

InitMpiFint init_of_library() {
  static void* const library = load();
  void* const function = dlsym(library, "sparsecollCommInitMpiFint");
  if (!function)
    fail(sparsecollSystemError, "not in the library of communicators over MPI: ", dlerror());
  return reinterpret_cast<InitMpiFint>(function);
}

}  // namespace

sparsecollResult_t sparsecollCommInitMpiFint(sparsecollComm_t* comm, int fortranComm,
                                             const sparsecollConfig_t* config) {
  InitMpiFint init = nullptr;
  const sparsecollResult_t result =
      on_init("sparsecollCommInitMpiFint", [&] { init = init_of_library(); });
  return init ? init(comm, fortranComm, config) : result;
}
