// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests which domains and ranges the library passes to NVTX. The test takes the place of a
// profiler: NVTX calls the function behind InitializeInjectionNvtx2_fnptr, which puts the test's
// functions into its table. It needs no GPU.

#include <nvtx3/nvToolsExt.h>
#include <sparsecoll/sparsecoll.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

struct SeenRange {
  std::string name;
  bool ended = false;
};

/// Holds the domains and ranges that NVTX has passed to the test.
struct Seen {
  std::mutex mutex;
  std::vector<std::string> domains;
  std::vector<SeenRange> ranges;
};
Seen& seen() {
  static Seen all;
  return all;
}

nvtxDomainHandle_t create_domain(const char* name) {
  const std::scoped_lock lock(seen().mutex);
  seen().domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(&seen());
}

nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  const std::scoped_lock lock(seen().mutex);
  const bool valid = domain == reinterpret_cast<nvtxDomainHandle_t>(&seen()) &&
                     range->version == NVTX_VERSION &&
                     range->messageType == NVTX_MESSAGE_TYPE_ASCII;
  seen().ranges.push_back({valid ? range->message.ascii : "not valid"});
  return seen().ranges.size();
}

void end(nvtxDomainHandle_t, nvtxRangeId_t range) {
  const std::scoped_lock lock(seen().mutex);
  seen().ranges.at(range - 1).ended = true;
}

int inject(NvtxGetExportTableFunc_t table_of) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create_domain);
  *table[NVTX_CBID_CORE2_DomainRangeStartEx] = reinterpret_cast<NvtxFunctionPointer>(&start);
  *table[NVTX_CBID_CORE2_DomainRangeEnd] = reinterpret_cast<NvtxFunctionPointer>(&end);
  return 1;
}

TEST_CASE("NVTX gets the calls and their phases") {
  InitializeInjectionNvtx2_fnptr = &inject;  // which NVTX reads when it is called first
  sparsecollComm_t comm = nullptr;
  REQUIRE(sparsecollCommInitAll(&comm, 1, nullptr, nullptr) == sparsecollSuccess);
  const std::vector<float> x(100, 1.0f);
  std::vector<float> y(x.size());
  CHECK(sparseAllreduce(x.data(), y.data(), x.size(), 10, sparsecollFloat32, sparsecollSum, nullptr,
                        comm, nullptr) == sparsecollSuccess);
  CHECK(sparsecollCommDestroy(comm) == sparsecollSuccess);
  const std::scoped_lock lock(seen().mutex);
  CHECK(seen().domains == std::vector<std::string>{"sparsecoll"});
  const auto shown = [](const char* name) {
    return std::ranges::count(seen().ranges, name, &SeenRange::name);
  };
  CHECK(shown("sparseAllreduce") == 1);
  CHECK(shown("select") >= 1);
  CHECK(shown("not valid") == 0);
  CHECK(std::ranges::all_of(seen().ranges, &SeenRange::ended));
}

}  // namespace
}  // namespace sparsecoll::unit
