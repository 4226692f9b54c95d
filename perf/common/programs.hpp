// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sparsecoll::perf {

// The programs that measure verbs, as functions: main() of each, and of verbs_perf, which is all of
// them. They return the exit status.

/// sparseAllreduce (--form dense) and sparseAllreducev (--form sparse, sum); with --tensors it
/// searches how many bytes of tensors should go into one group.
int sparse_allreduce_perf(int argc, char** argv);
/// gtopkAllreduce (--form dense) and gtopkAllreducev (--form sparse, sum); the algorithms of
/// sparseAllreduce can be put beside it.
int gtopk_allreduce_perf(int argc, char** argv);
/// sparseAlltoall: every rank's selection goes to the owners of its indices.
int sparse_alltoall_perf(int argc, char** argv);
/// pushSumStep: the estimates' distance from the mean against steps and time, and with --slow what
/// a slow rank costs, beside dense allreduces.
int push_sum_perf(int argc, char** argv);

}  // namespace sparsecoll::perf
