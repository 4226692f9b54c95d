// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests that results have the same bits in every run, whatever the timing and the floating-point
// environment, and how far they are from the exact sum.

#include <cfenv>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sparsecoll::test {
namespace {

std::uint64_t hash_of(const std::vector<float>& values, std::uint64_t start) {
  std::uint64_t hash = start;
  for (const float value : values) hash = noise(hash, bits(value));
  return hash;
}

/// Three calls with feedback, ranks at random times; one hash over everything every rank got.
std::uint64_t run_once(const Ranks& ranks, const Mode& mode, std::string& verdict) {
  const std::size_t n = 4000;
  const auto residuals = make_residuals<float>(ranks.comms(), n, true);
  std::vector<std::uint64_t> results(ranks.comms().size(), 1);
  std::vector<std::uint64_t> states(ranks.comms().size(), 1);
  std::random_device real_randomness;
  std::vector<unsigned> delays(ranks.comms().size() * 3);
  for (unsigned& delay : delays) delay = real_randomness() % 400;
  verdict += ranks.run(mode.name, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<float> recv(n);
    for (std::size_t call = 0; call < 3; ++call) {
      const auto send = make_data<float>(Kind::kSkewed, n, rank, ranks.size(), 77 + call);
      std::this_thread::sleep_for(std::chrono::microseconds(delays[r * 3 + call]));
      const DenseCall<float> c{send.data(), recv.data(),   n,
                               90,          sparsecollAvg, residuals[r].handle()};
      const sparsecollResult_t result = call_dense_verb(mode.verb, c, ranks.comm(rank));
      if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
      results[r] = hash_of(recv, results[r]);
      states[r] = hash_of(residuals[r].read(), states[r]);
    }
    return std::string();
  });
  std::uint64_t all = results[0];
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (results[r] != results[0]) verdict += "rank " + std::to_string(r) + " has other results";
    all = noise(all, states[r]);
  }
  return all;
}

TEST_CASE("100 runs give the same bits on every rank") {
  for (const int P : {2, 3, 5, 8}) {
    for (const Mode& mode : kTopkModes) {
      std::string verdict;
      std::uint64_t first = 0;
      for (int run = 0; run < (small_run() ? 6 : 100); run += 2) {
        const Ranks ranks(P, config_of(mode));  // every second run on a communicator that is warm
        for (int warm = 0; warm < 2; ++warm) {
          const std::uint64_t hash = run_once(ranks, mode, verdict);
          if (run + warm == 0) first = hash;
          if (hash != first) verdict += "run " + std::to_string(run + warm) + " differs";
        }
      }
      INFO(mode.name << " P=" << P);
      CHECK(verdict == "");
    }
  }
}

/// |got - exact| <= (P - 1) u sum |x| for every element, exact in long double.
template <class T>
std::string check_rounding(const Mode& mode, int P) {
  const std::size_t n = 5040;  // shards of one length, whatever P: TopkA2A then drops nothing
  const long double u = std::numeric_limits<T>::epsilon() / 2.0L;
  const Ranks ranks(P, config_of(mode));
  const auto sends = make_data_of_all<T>(Kind::kHeavyTail, n, P, base_seed() + 8);
  return ranks.run(mode.name, [&](int rank) -> std::string {
    std::vector<T> recv(n);
    const DenseCall<T> c{sends[static_cast<std::size_t>(rank)].data(), recv.data(), n, n};
    const sparsecollResult_t result = call_dense_verb(mode.verb, c, ranks.comm(rank));
    if (result != sparsecollSuccess) return explain(result, ranks.comm(rank));
    for (std::size_t i = 0; i < n; ++i) {
      long double exact = 0;
      long double magnitude = 0;
      for (const std::vector<T>& send : sends) {
        exact += send[i];
        magnitude += std::fabs(send[i]);
      }
      if (std::fabs(recv[i] - exact) <= (P - 1) * u * magnitude) continue;
      return "element " + std::to_string(i) + " is off by " +
             std::to_string(double(recv[i] - exact));
    }
    return "";
  });
}

TEST_CASE("sums are within (P - 1) u sum |x| of the exact ones") {
  for (const int P : rank_counts()) {
    for (const Mode& mode :
         {kAuto, kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense, kGtopk}) {
      CHECK(check_rounding<float>(mode, P) == "");
      CHECK(check_rounding<double>(mode, P) == "");
    }
  }
}

/// A floating-point environment that a program may have set.
class OddEnvironment {
 public:
  OddEnvironment() {
    std::fesetround(FE_UPWARD);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
    control_ = _mm_getcsr();
#endif
  }
  /// Whether the mode is still as set; afterwards it is the default.
  bool end() {
    bool kept = std::fegetround() == FE_UPWARD;
#if defined(__SSE2__)
    kept = kept && (_mm_getcsr() | kFlags) == (control_ | kFlags);
#endif
    std::fesetenv(FE_DFL_ENV);
    return kept;
  }

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlags = 0x3f;  // sticky exception flags
  unsigned control_ = 0;
#endif
};

/// A call by itself, or the only one of a group.
std::string check_odd_environment(const Mode& mode, Kind kind, bool grouped) {
  const int P = 3;
  const std::size_t n = 500;
  const Ranks ranks(P, config_of(mode));
  const auto residuals = make_residuals<float>(ranks.comms(), n, true);
  oracle::DenseInputs<float> in{make_data_of_all<float>(kind, n, P, base_seed()), {}};
  in.residuals = make_data_of_all<float>(kind, n, P, base_seed() + 1);
  const auto want = expected(mode, in, 60, oracle::Op::kAvg);
  return ranks.run(std::string(mode.name) + " " + name_of(kind), [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const sparsecollComm_t comm = ranks.comm(rank);
    std::vector<float> recv(n);
    sparsecollResidualWrite(residuals[r].handle(), in.residuals[r].data());
    const DenseCall<float> c{in.sends[r].data(), recv.data(),          n, 60,
                             sparsecollAvg,      residuals[r].handle()};
    const auto call = mode.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    OddEnvironment odd;
    const sparsecollResult_t result =
        grouped ? in_group(comm,
                           [&] {
                             call(c.send, c.recv, c.n, c.k, sparsecollFloat32, c.op, c.residual,
                                  comm, nullptr);
                           })
                : call_dense_verb(mode.verb, c, comm);
    if (!odd.end()) return std::string("the floating-point environment was not restored");
    std::string verdict = expect("the verb", result, sparsecollSuccess, comm);
    if (verdict.empty()) verdict = difference("result", recv, want.result);
    if (verdict.empty()) verdict = difference("residual", residuals[r].read(), want.residuals[r]);
    return verdict;
  });
}

TEST_CASE("the caller's rounding mode and flush-to-zero change no bit and are kept") {
  for (const Mode& mode : {kAllgather, kOktopk, kTopkA2A, kHierarchical, kSharded, kDense, kGtopk})
    for (const Kind kind : {Kind::kHeavyTail, Kind::kDenormals})
      for (const bool grouped : {false, true})
        CHECK(check_odd_environment(mode, kind, grouped) == "");
}

}  // namespace
}  // namespace sparsecoll::test
