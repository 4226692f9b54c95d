// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// The main() of all test programs with Catch2 version 2, compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
