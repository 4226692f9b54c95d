// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/driver.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

namespace sparsecoll::cuda {

namespace {

/// The result of the last search for the driver.
struct Search {
  unsigned long long loads_without = 0;  ///< number of loads of libraries before the last search
                                         ///< that did not find it
  unsigned long long loads = 0;
};

/// Returns 1 if the object is the driver, whatever version its file name has, and -1 if nothing was
/// loaded since the last search. Both end the search: looking at all of a hundred objects takes
/// longer than the rest of a small call.
int is_driver(dl_phdr_info* object, size_t size, void* search) {
  auto& known = *static_cast<Search*>(search);
  if (size >= offsetof(dl_phdr_info, dlpi_adds) + sizeof object->dlpi_adds) {
    known.loads = object->dlpi_adds;
    if (known.loads == known.loads_without) return -1;
  }
  const std::string_view path = object->dlpi_name;
  return path.substr(path.rfind('/') + 1).starts_with("libcuda.so") ? 1 : 0;
}

/// Serialises the searches. A fork takes this lock, too. Otherwise the child may hang: before
/// version 2.38 glibc leaves the lock of dl_iterate_phdr() locked in the child if another thread
/// holds it during the fork.
std::mutex& search_mutex() {
  static auto& mutex = *new std::mutex;  // never destroyed: threads may search at exit
  return mutex;
}

void lock_search() { search_mutex().lock(); }
void unlock_search() { search_mutex().unlock(); }

/// Returns whether this process has loaded the driver.
bool driver_is_loaded() {
  // This fails only if memory is short. Then a child that is forked during a search may hang.
  static const int not_registered = pthread_atfork(lock_search, unlock_search, unlock_search);
  static_cast<void>(not_registered);
  static Search search;
  const std::lock_guard lock(search_mutex());
  const int found = dl_iterate_phdr(is_driver, &search);
  if (found == 0) search.loads_without = search.loads;
  return found == 1;
}

/// Opens the driver if this process has loaded it; returns null otherwise. dlopen() is called only
/// for a loaded library: it searches the file system for any other, on every call and under a
/// process-wide lock.
void* open_loaded_driver() {
  if (!driver_is_loaded()) return nullptr;
  return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
}

/// The driver's library, open during the lifetime of this object. False if the process has not
/// loaded it.
class Driver {
 public:
  Driver() : library_(open_loaded_driver()) {}
  ~Driver() {
    if (library_) dlclose(library_);
  }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  explicit operator bool() const { return library_; }
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

 private:
  void* const library_;
};

bool primary_context_is_active(const Driver& driver, int device) {
  const auto state = driver.find<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  unsigned flags = 0;
  int active = 0;
  return state && state(device, &flags, &active) == 0 && active;
}

}  // namespace

// The driver's functions are called by their documented signatures: CUdevice and CUresult are ints,
// a CUcontext is a pointer. None of the functions needs or creates a context.
bool context_exists() {
  const Driver driver;
  if (!driver) return false;
  const auto current = driver.find<int(void**)>("cuCtxGetCurrent");
  const auto count = driver.find<int(int*)>("cuDeviceGetCount");
  if (!current || !count) return false;
  void* context = nullptr;
  if (current(&context) == 0 && context) return true;
  int devices = 0;
  if (count(&devices) != 0) return false;
  for (int device = 0; device < devices; ++device)
    if (primary_context_is_active(driver, device)) return true;
  return false;
}

bool context_exists_on(int device) {
  const Driver driver;
  return driver && primary_context_is_active(driver, device);
}

// CUmodule and CUfunction are pointers.
void load_kernels(std::span<const void* const> kernels) {
  const Driver driver;
  if (!driver) return;
  const auto module_of = driver.find<int(void**, void*)>("cuFuncGetModule");
  const auto count = driver.find<int(unsigned*, void*)>("cuModuleGetFunctionCount");
  const auto enumerate = driver.find<int(void**, unsigned, void*)>("cuModuleEnumerateFunctions");
  const auto load = driver.find<int(void*)>("cuFuncLoad");
  if (!module_of || !count || !enumerate || !load) return;  // before CUDA 12.4
  for (const void* const kernel : kernels) {
    cudaFunction_t one = nullptr;
    void* module = nullptr;
    unsigned n = 0;
    if (cudaGetFuncBySymbol(&one, kernel) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    if (module_of(&module, one) != 0 || count(&n, module) != 0) continue;
    std::vector<void*> all(n);
    if (enumerate(all.data(), n, module) != 0) continue;
    for (void* const each : all) load(each);
  }
}

}  // namespace sparsecoll::cuda
