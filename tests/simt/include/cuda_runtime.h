// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of CUDA that the library's kernels use, on a machine without a GPU. The kernels' own
// sources are compiled by the host's compiler against this header; ../engine.hpp says what runs
// them, and what it finds that a GPU would not tell. For tests only: nothing here is fast.

#include <algorithm>
#include <cmath>

#include "simt/atomics.h"
#include "simt/calls.h"
#include "simt/language.h"
#include "simt/streams.h"
#include "simt/threads.h"
