// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the library notices when the program loads CUDA's driver and when it unloads it. The
// driver is a stand-in (driver_stand_in.cpp) with a context.

#include "kernels/cuda/driver.hpp"

#include <dlfcn.h>

#include "support/catch.hpp"

namespace sparsecoll::cuda {
namespace {

TEST_CASE("the driver is noticed whenever it is loaded") {
  for (int round = 0; round < 3; ++round) {
    INFO("round " << round);
    // The second search relies on the first, because nothing was loaded between them.
    CHECK_FALSE(context_exists());
    CHECK_FALSE(context_exists());
    void* const driver = dlopen(SPARSECOLL_STAND_IN_DRIVER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(driver);
    CHECK(context_exists());
    CHECK(context_exists());
    CHECK(context_exists_on(0));
    dlclose(driver);
    CHECK_FALSE(context_exists());
  }
}

}  // namespace
}  // namespace sparsecoll::cuda
