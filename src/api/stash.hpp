// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "api/arguments.hpp"

namespace sparsecoll {

/// A caller's output vector: sound, and of the types of `like`.
void check_output(const char* name, const sparsecollSparse_t* out, const sparsecollSparse_t& like);

/// The two arrays of a vector, as far as its capacity goes.
std::array<Place, 2> places(const char* indices, const char* values,
                            const sparsecollSparse_t& sparse);

/// Room for a result of `nnz` entries, of count and types of `like`.
std::unique_ptr<Stash> make_stash(Communicator& communicator, size_t nnz,
                                  const sparsecollSparse_t& like);
SparseBuffer stash_buffer(const Stash& stash, Kernels& kernels);

}  // namespace sparsecoll
