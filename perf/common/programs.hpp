// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

// The programs that measure verbs. Each has a main() that calls its function; verbs_perf calls any
// of them. The functions return the exit status.

/// Measures sparseAllreduce (--form dense) and sparseAllreducev (--form sparse, sum). With
/// --tensors, searches for the best size of groups of tensors.
int sparse_allreduce_perf(int argc, char** argv);
/// Measures gtopkAllreduce (--form dense) and gtopkAllreducev (--form sparse, sum), and on request
/// the algorithms of sparseAllreduce on the same data.
int gtopk_allreduce_perf(int argc, char** argv);
/// Measures sparseAlltoall: every rank sends its selection to the owners of the indices.
int sparse_alltoall_perf(int argc, char** argv);
/// Measures pushSumStep: the distance of the estimates from the mean after each step. With --slow,
/// measures the cost of a slow rank, for push-sum and for dense allreduces.
int push_sum_perf(int argc, char** argv);

}  // namespace sparsecoll::perf
