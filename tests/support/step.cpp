// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/step.hpp"

#include <chrono>
#include <sstream>

#include "support/compare.hpp"

namespace sparsecoll::unit {

using test::SparseBuffer;

std::string describe(const Task& task, int P) {
  std::ostringstream out;
  out << task.mode.name << (task.coordinate_form ? " v" : "") << " P=" << P << " n=" << task.n
      << " k=" << task.k << " seed=" << task.seed << " data='"
      << (task.coordinate_form ? test::name_of(task.sparse_kind) : test::name_of(task.kind)) << "' "
      << test::name_of(task.op) << (task.no_room ? " truncated" : "") << " blocks of "
      << task.block;
  return out.str();
}

template <class T>
Residuals<T> first_residuals(const Task& task, int P) {
  auto first =
      test::make_data_of_all<T>(test::Kind::kWideIntegers, task.values(), P, task.seed + 1000);
  test::keep_what_is_held(task.mode, first);
  return first;
}

template <class T>
Step<T> make_step(const Task& task, const Residuals<T>& before) {
  const int P = static_cast<int>(before.size());
  Step<T> step;
  step.task = task;
  step.before = before;
  if (task.coordinate_form) {
    step.sparse = test::make_sparse_of_all<T>(task.sparse_kind, task.n, P, task.seed, task.block);
    const oracle::SparseInputs<T> in{step.sparse, before, task.block, task.n};
    const auto want = test::expected<T>(task.mode, in, task.k, task.op);
    step.sparse_result = want.result;
    step.after = want.residuals;
  } else {
    step.dense = test::make_data_of_all<T>(task.kind, task.n, P, task.seed);
    const auto want =
        test::expected<T>(task.mode, oracle::DenseInputs<T>{step.dense, before}, task.k, task.op);
    step.dense_result = want.result;
    step.after = want.residuals;
  }
  return step;
}

namespace {

template <class T>
void call_dense(const Step<T>& step, size_t rank, sparsecollComm_t comm,
                const test::Residual<T>& residual, Report& report) {
  const Task& task = step.task;
  std::vector<T> recv(task.n, T{-77});
  report.result = test::call_dense_verb<T>(task.mode.verb,
                                           {step.dense[rank].data(), recv.data(), task.n, task.k,
                                            test::op_of(task.op), residual.handle()},
                                           comm);
  if (report.result == sparsecollSuccess)
    report.wrong = test::difference("result", recv, step.dense_result);
}

template <class T>
void call_sparse(const Step<T>& step, size_t rank, sparsecollComm_t comm,
                 const test::Residual<T>& residual, Report& report) {
  const Task& task = step.task;
  const SparseBuffer<T> send(task.n, sparsecollIndex32, step.sparse[rank], task.block);
  const size_t entries = step.sparse_result.size() / task.block;
  SparseBuffer<T> full(task.n, sparsecollIndex32, entries, task.block);
  SparseBuffer<T> small(task.n, sparsecollIndex32, 0, task.block);
  SparseBuffer<T>& recv = task.no_room ? small : full;
  report.result = test::call_sparse_verb(
      task.mode.verb, {send.get(), recv.get(), task.k, test::op_of(task.op), residual.handle()},
      comm);
  if (report.result == sparsecollTruncated && recv.get()->needed == entries)
    report.result = sparsecollFetch(full.get(), nullptr, comm, nullptr);
  if (report.result == sparsecollSuccess)
    report.wrong = test::difference("result", full.entries(), step.sparse_result);
}

}  // namespace

template <class T>
Report make_call(const Step<T>& step, int rank, sparsecollComm_t comm,
                 const test::Residual<T>& residual) {
  const auto r = static_cast<size_t>(rank);
  Report report;
  const auto start = std::chrono::steady_clock::now();
  if (step.task.coordinate_form)
    call_sparse(step, r, comm, residual, report);
  else
    call_dense(step, r, comm, residual, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (report.result != sparsecollSuccess) report.message = sparsecollGetLastError(comm);
  const std::vector<T> now = residual.read();
  const std::string changed = test::difference("residual", now, step.before[r]);
  const std::string differs = test::difference("residual", now, step.after[r]);
  report.changed = !changed.empty();
  report.committed = differs.empty();
  if (!differs.empty() && report.result == sparsecollSuccess && report.wrong.empty())
    report.wrong = differs;
  if (!differs.empty() && !changed.empty() && report.wrong.empty())
    report.wrong = "the residual is neither as before nor as after: " + changed + "; " + differs;
  return report;
}

std::string describe(const Report& report) {
  std::ostringstream out;
  out << sparsecollGetErrorString(report.result) << " [" << report.message << "]"
      << (report.changed ? ", residual changed, " : ", residual unchanged, ") << report.seconds
      << " s" << (report.wrong.empty() ? "" : ", WRONG: ") << report.wrong;
  return out.str();
}

template Residuals<float> first_residuals(const Task&, int);
template Residuals<double> first_residuals(const Task&, int);
template Step<float> make_step(const Task&, const Residuals<float>&);
template Step<double> make_step(const Task&, const Residuals<double>&);
template Report make_call(const Step<float>&, int, sparsecollComm_t, const test::Residual<float>&);
template Report make_call(const Step<double>&, int, sparsecollComm_t,
                          const test::Residual<double>&);

}  // namespace sparsecoll::unit
