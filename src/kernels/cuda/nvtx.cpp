// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include "kernels/profiler.hpp"

namespace sparsecoll {

namespace {

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t const own = nvtxDomainCreateA("sparsecoll");
  return own;
}

/// Ranges with a begin and an end of their own, unlike those that NVTX keeps on a stack for each
/// thread, may overlap: the members of a group take turns in one thread.
constexpr Profiler kNvtx{[](const char* name) -> uint64_t {
                           nvtxEventAttributes_t range{};
                           range.version = NVTX_VERSION;
                           range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
                           range.messageType = NVTX_MESSAGE_TYPE_ASCII;
                           range.message.ascii = name;
                           return nvtxDomainRangeStartEx(domain(), &range);
                         },
                         [](uint64_t range) { nvtxDomainRangeEnd(domain(), range); }};

}  // namespace

const Profiler* profiler() { return &kNvtx; }

}  // namespace sparsecoll
