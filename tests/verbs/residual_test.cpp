// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of residuals as objects: they are zero at first, and can be read, written, scaled and
// accessed by a pointer.

#include <limits>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

template <class T>
void check_reading_and_writing(sparsecollComm_t comm) {
  const std::size_t n = 300;
  Residual<T> residual(comm, n);
  using A = oracle::Wide<T>;
  CHECK(difference("a new residual", residual.read(), std::vector<A>(n, 0)) == "");
  for (const Kind kind : kAllKinds) {
    INFO(name_of(kind));
    const std::vector<A> written = make_data<A>(kind, n, 0, 2, base_seed());
    std::vector<A> want = written;
    for (A& value : want) value = oracle::Oracle<T>::canonical(value);
    residual.write(written);
    CHECK(difference("after a write", residual.read(), want) == "");
  }
}

TEST_CASE("a residual holds what was written, NaNs canonical") {
  const Ranks ranks(1, default_config());
  check_reading_and_writing<float>(ranks.comm(0));
  check_reading_and_writing<double>(ranks.comm(0));
  check_reading_and_writing<oracle::Float16>(ranks.comm(0));
  check_reading_and_writing<oracle::Bfloat16>(ranks.comm(0));
}

template <class T>
void check_scaling(sparsecollComm_t comm) {
  using A = oracle::Wide<T>;
  const std::size_t n = 300;
  Residual<T> residual(comm, n);
  for (const double factor : {0.5, -2.0, 0.1, 1.0, 1e-30}) {
    const std::vector<A> written = make_data<A>(Kind::kHeavyTail, n, 0, 1, base_seed());
    std::vector<A> want = written;
    for (A& value : want) value *= static_cast<A>(factor);
    residual.write(written);
    INFO("factor " << factor);
    CHECK(sparsecollResidualScale(residual.handle(), factor) == sparsecollSuccess);
    CHECK(difference("after scaling", residual.read(), want) == "");
  }
  residual.write(make_data<A>(Kind::kInfinityClash, n, 0, 1, base_seed()));
  CHECK(sparsecollResidualScale(residual.handle(), 0.0) == sparsecollSuccess);
  CHECK(difference("after a reset", residual.read(), std::vector<A>(n, 0)) == "");

  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  residual.write(std::vector<A>(n, 4));
  CHECK(sparsecollResidualScale(residual.handle(), infinity) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualScale(residual.handle(), nan) == sparsecollInvalidArgument);
  CHECK(difference("after a refusal", residual.read(), std::vector<A>(n, 4)) == "");
}

TEST_CASE("scaling multiplies in the residual's type, and 0 resets whatever is there") {
  const Ranks ranks(1, default_config());
  check_scaling<float>(ranks.comm(0));
  check_scaling<double>(ranks.comm(0));
  check_scaling<oracle::Float16>(ranks.comm(0));
  check_scaling<oracle::Bfloat16>(ranks.comm(0));
}

TEST_CASE("the pointer shows the residual that the last call left") {
  const Ranks ranks(2, default_config());
  const std::size_t n = 100;
  CHECK(ranks.run("pointer", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    const Residual<float> residual(comm, n);
    const std::vector<float> send = make_data<float>(Kind::kHeavyTail, n, rank, 2, 3);
    std::vector<float> recv(n);
    for (int call = 0; call < 3; ++call) {
      const DenseCall<float> c{send.data(), recv.data(), n, 5, sparsecollSum, residual.handle()};
      std::string verdict =
          expect("the verb", call_dense_verb(Verb::kSparse, c, comm), sparsecollSuccess, comm);
      void* pointer = nullptr;
      if (verdict.empty()) {
        verdict = expect("pointer", sparsecollResidualPointer(residual.handle(), &pointer),
                         sparsecollSuccess, comm);
      }
      if (!verdict.empty()) return verdict;
      const float* values = static_cast<const float*>(pointer);
      verdict = difference("pointed at", std::vector<float>(values, values + n), residual.read());
      if (!verdict.empty()) return verdict;
    }
    return std::string();
  }) == "");
}

TEST_CASE("a residual written through its pointer is what the next call uses") {
  const Ranks ranks(1, default_config());
  const Residual<float> residual(ranks.comm(0), 4);
  void* pointer = nullptr;
  REQUIRE(sparsecollResidualPointer(residual.handle(), &pointer) == sparsecollSuccess);
  static_cast<float*>(pointer)[2] = 9.0f;
  const std::vector<float> send{1, 1, 1, 1};
  std::vector<float> recv(4);
  const DenseCall<float> call{send.data(), recv.data(), 4, 1, sparsecollSum, residual.handle()};
  REQUIRE(call_dense_verb(Verb::kSparse, call, ranks.comm(0)) == sparsecollSuccess);
  CHECK(difference("result", recv, std::vector<float>{0, 0, 10, 0}) == "");
  CHECK(difference("residual", residual.read(), std::vector<float>{1, 1, 0, 1}) == "");
}

TEST_CASE("residuals of no elements, and many of them") {
  const Ranks ranks(1, default_config());
  const Residual<double> empty(ranks.comm(0), 0);
  CHECK(empty.read().empty());
  CHECK(sparsecollResidualScale(empty.handle(), 2.0) == sparsecollSuccess);
  std::vector<Residual<float>> many;
  for (std::size_t i = 0; i < 1000; ++i) many.emplace_back(ranks.comm(0), i % 7);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(many[i].read().size() == i % 7);
}

}  // namespace
}  // namespace sparsecoll::test
