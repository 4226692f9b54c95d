// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of CUDA that the library's kernels use, for machines without a GPU. The host's compiler
// compiles the sources of the kernels against this header. ../engine.hpp describes how they run,
// and which errors it finds that a GPU does not report. For tests only: nothing here is fast.

#include <algorithm>
#include <cmath>

#include "simt/atomics.h"
#include "simt/calls.h"
#include "simt/language.h"
#include "simt/streams.h"
#include "simt/threads.h"
