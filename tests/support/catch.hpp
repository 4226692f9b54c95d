// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#ifndef SPARSECOLL_TESTS_SUPPORT_CATCH_HPP_
#define SPARSECOLL_TESTS_SUPPORT_CATCH_HPP_

// Catch2, generation 3 or 2, with `Approx` at the same place in both.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#endif  // SPARSECOLL_TESTS_SUPPORT_CATCH_HPP_
