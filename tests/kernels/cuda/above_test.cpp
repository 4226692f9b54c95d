// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests selection by a given key: the device against the host.

#include "kernels/cuda/select_input.hpp"
#include "support/catch.hpp"

namespace sparsecoll::cuda_test {
namespace {

/// Calls accumulate_above on host and device. If the entries do not fit, only the count is defined.
template <class T, class I>
std::string check_above(const Input<T>& input, uint64_t key, size_t capacity, const Call& call) {
  using Acc = Accumulation<T>;
  const size_t n = input.values.size();
  Pair<Acc, I, data_type_of<T>()> pair;
  pair.device.backend().tuning() = call.tuning;
  std::vector<Acc> want(n);
  const SparseBuffer host = pair.host.kernels().sparse(capacity);
  const SparseBuffer device = pair.device.kernels().sparse(capacity);
  Acc* const next = pair.device.upload(want);
  const Acc* const read = pair.device.upload(input.residual);
  ResidualView ours, theirs;
  if (call.feedback) {
    ours = {input.residual.data(), want.data()};
    theirs = {read, next};
  }
  const T* const values = pair.device.upload(input.values);
  pair.host.kernels().accumulate_above({input.values.data(), n, ours}, key, host);
  pair.device.kernels().accumulate_above({values, n, theirs}, key, device);
  const uint64_t count = pair.device.kernels().read(device.nnz);
  if (count != *host.nnz) return "count " + std::to_string(count);
  if (count > capacity) return "";
  const std::string differs =
      test::difference("selected", pair.device.get(device), pair.host.get(host));
  if (!differs.empty() || !call.feedback) return differs;
  return test::difference("residual", plain(pair.device.template download<Acc>(next, n)),
                          plain(want));
}

template <class T, class I>
void check_kinds_above(size_t n) {
  for (const test::Kind kind : unit::kDenseKinds) {
    const Input<T> input = input_of<T>(kind, n, 17);
    const uint64_t key = std::max<uint64_t>(key_of(input.residual[n / 2]), 1);
    for (const size_t capacity : {n, n / 10, n / 100}) {
      for (const cuda::DeviceTuning& tuning :
           {cuda::DeviceTuning{}, cuda::DeviceTuning{0}, cuda::DeviceTuning{0, 0, 600}}) {
        INFO(test::name_of(kind) << ", n = " << n << ", capacity " << capacity);
        CHECK(check_above<T, I>(input, key, capacity, {0, true, tuning}) == "");
        CHECK(check_above<T, I>(input, 3 * (key / 2), capacity, {0, false, tuning}) == "");
      }
    }
  }
}

TEST_CASE("accumulate_above takes what the host takes, staged or not") {
  check_kinds_above<float, uint64_t>(3000);
  check_kinds_above<double, uint32_t>(1001);
  check_kinds_above<Float16, uint32_t>(1002);
  check_kinds_above<Bfloat16, uint64_t>(1500);
}

}  // namespace
}  // namespace sparsecoll::cuda_test
