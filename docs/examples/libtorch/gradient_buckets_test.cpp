// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of GradientBuckets, with gradients that are known: those of sum(coefficients * parameter).

#include "gradient_buckets.h"
#undef CHECK  // of the logging library that torch uses

#include <stdexcept>

#include "cxx/team.hpp"

namespace sparsecoll::test {
namespace {

using train::GradientBuckets;

std::vector<torch::Tensor> make_parameters() {
  std::vector<torch::Tensor> parameters;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{3, 4}, {500}, {7}})
    parameters.push_back(torch::ones(shape).requires_grad_());
  return parameters;
}

/// Integers that differ between ranks, parameters and steps. Their sums are exact.
torch::Tensor coefficients(const torch::Tensor& parameter, int rank, int step) {
  const torch::Tensor numbers = torch::arange(parameter.numel(), torch::kFloat32);
  return numbers.mul(7 + 3 * rank).remainder(31).sub(11 * step).view(parameter.sizes());
}

/// Makes a backward pass that reaches all parameters but `unused`.
void backward(const std::vector<torch::Tensor>& parameters, int rank, int step, int unused = -1) {
  torch::Tensor loss = torch::zeros({}).requires_grad_();
  for (int i = static_cast<int>(parameters.size()) - 1; i >= 0; --i) {
    const torch::Tensor& parameter = parameters[static_cast<std::size_t>(i)];
    if (i != unused) loss = loss + (coefficients(parameter, rank, step) * parameter).sum();
  }
  loss.backward();
}

Config queued_config() {
  Config config = quick_config();
  config.blocking = 0;
  return config;
}

std::vector<float> values_of(const torch::Tensor& tensor) {
  const float* first = tensor.data_ptr<float>();
  return {first, first + tensor.numel()};
}

TEST_CASE("gradients become means, those of unused parameters count as 0") {
  constexpr int P = 4, kUnused = 1, kUnusedBy = 2;
  CHECK(with_team(P, queued_config(), [](Communicator& comm) {
          const std::vector<torch::Tensor> parameters = make_parameters();
          GradientBuckets buckets(comm, parameters, {1.0, false, 510});
          std::string wrong;
          for (int step = 0; step < 3; ++step) {  // no step removes the gradients of the one before
            backward(parameters, comm.rank(), step, comm.rank() == kUnusedBy ? kUnused : -1);
            buckets.wait();
            for (int i = 0; i < 3; ++i) {
              const torch::Tensor& parameter = parameters[static_cast<std::size_t>(i)];
              torch::Tensor sum = torch::zeros(parameter.sizes());
              for (int rank = 0; rank < P; ++rank)
                if (i != kUnused || rank != kUnusedBy) sum += coefficients(parameter, rank, step);
              wrong += unless(parameter.grad().equal(sum / P),
                              "gradient " + std::to_string(i) + " of step " + std::to_string(step));
            }
          }
          return wrong;
        }) == "");
}

TEST_CASE("full buckets are queued within the backward pass, in the same order on all ranks") {
  CHECK(with_team(2, queued_config(), [](Communicator& comm) {
          const std::vector<torch::Tensor> parameters = make_parameters();
          GradientBuckets buckets(comm, parameters, {1.0, false, 510});  // {7, 500} and {3 x 4}
          const std::uint64_t before = comm.sequence();
          backward(parameters, comm.rank(), 0, comm.rank() == 1 ? 2 : -1);
          // On rank 1 the first bucket is not full, and the second waits for it.
          const std::uint64_t queued = comm.sequence() - before;
          std::string wrong = unless(queued == (comm.rank() == 1 ? 0u : 2u), "what was queued");
          buckets.wait();
          return wrong + unless(comm.sequence() == before + 2, "the number of groups");
        }) == "");
}

TEST_CASE("each sparse gradient is that of a call of its own, with its own residual") {
  for (const bool gtopk : {false, true}) {
    CHECK(with_team(3, queued_config(), [gtopk](Communicator& comm) {
            const std::vector<torch::Tensor> parameters = make_parameters();
            GradientBuckets buckets(comm, parameters, {0.1, gtopk, 510});
            std::vector<Residual<float>> residuals;
            for (const torch::Tensor& parameter : parameters)
              residuals.emplace_back(comm, static_cast<std::size_t>(parameter.numel()));
            const std::size_t ks[] = {2, 50, 1};
            std::string wrong;
            for (int step = 0; step < 4; ++step) {
              backward(parameters, comm.rank(), step);
              buckets.wait();
              for (std::size_t i = 0; i < 3; ++i) {
                std::vector<float> want = values_of(coefficients(parameters[i], comm.rank(), step));
                if (gtopk)
                  comm.gtopkAllreduce(want, want, ks[i], sparsecollAvg, &residuals[i]);
                else
                  comm.sparseAllreduce(want, want, ks[i], sparsecollAvg, &residuals[i]);
                comm.synchronize();
                wrong += unless(values_of(parameters[i].grad()) == want,
                                "gradient " + std::to_string(i));
              }
            }
            return wrong;
          }) == "");
  }
}

TEST_CASE("a second backward pass without wait() throws, and the destructor removes the hooks") {
  CHECK(with_team(2, queued_config(), [](Communicator& comm) {
          const std::vector<torch::Tensor> parameters = make_parameters();
          std::string wrong = "no exception; ";
          {
            GradientBuckets buckets(comm, parameters, {});
            backward(parameters, comm.rank(), 0);
            try {
              backward(parameters, comm.rank(), 1);
            } catch (const std::logic_error&) {
              wrong.clear();
            }
            buckets.wait();
          }
          const std::uint64_t before = comm.sequence();
          backward(parameters, comm.rank(), 2);
          return wrong + unless(comm.sequence() == before, "a backward pass without buckets");
        }) == "");
}

TEST_CASE("parameters that are not float32 are refused") {
  std::vector<Communicator> comms = Communicator::initAll(1, queued_config());
  CHECK_THROWS_AS(
      GradientBuckets(comms[0], {torch::ones({2}, torch::kFloat64).requires_grad_()}, {}),
      std::invalid_argument);
}

}  // namespace
}  // namespace sparsecoll::test
