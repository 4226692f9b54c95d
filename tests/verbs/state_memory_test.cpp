// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests residuals and push-sum states that are saved to memory, and residuals that go on with
// another number of ranks.

#include <cstddef>
#include <numeric>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/folder.hpp"
#include "support/push_sum.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t kCount = 500;
constexpr std::size_t kKept = 20;

using Bytes = std::vector<std::byte>;

/// Saves by a function of the C API that asks for the size first. `shift` bytes are in front, so
/// that the state need not be aligned.
template <class Handle>
Bytes save_to(sparsecollResult_t (*save)(Handle, void*, std::size_t*), Handle handle,
              std::size_t shift = 0) {
  std::size_t size = 12345;
  if (save(handle, nullptr, &size) != sparsecollSuccess) throw std::runtime_error("size");
  Bytes bytes(shift + size + 8, std::byte{0x5a});
  std::size_t got = size + 3;
  if (save(handle, bytes.data() + shift, &got) != sparsecollSuccess)
    throw std::runtime_error("save");
  if (got != size) throw std::runtime_error("another size");
  for (std::size_t i = 0; i < 8; ++i)
    if (bytes[shift + size + i] != std::byte{0x5a}) throw std::runtime_error("too many bytes");
  return {bytes.begin() + static_cast<std::ptrdiff_t>(shift), bytes.end() - 8};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string reduce(const Ranks& ranks, int rank, const Residual<float>& residual, int call,
                   std::vector<float>& out) {
  const auto send = make_data<float>(Kind::kHeavyTail, kCount, rank, ranks.size(),
                                     static_cast<std::uint64_t>(call));
  out.resize(kCount);
  const DenseCall<float> c{send.data(), out.data(),    kCount,
                           kKept,       sparsecollAvg, residual.handle()};
  return expect("call", call_dense_verb(Verb::kSparse, c, ranks.comm(rank)), sparsecollSuccess,
                ranks.comm(rank));
}

TEST_CASE("a residual in memory has the bytes of its file, and goes on with the same bits") {
  for (const Mode& mode : {kOktopk, kSharded}) {
    const Folder folder;
    const Ranks ranks(3, config_of(mode));
    CHECK(ranks.run(mode.name, [&](int rank) {
      Residual<float> residual(ranks.comm(rank), kCount), other(ranks.comm(rank), kCount);
      std::vector<float> want, got;
      std::string verdict = reduce(ranks, rank, residual, 0, want);
      const Bytes bytes = save_to(sparsecollResidualSaveTo, residual.handle(), 1);
      const std::string path = folder.file(rank);
      verdict += expect("file", sparsecollResidualSave(residual.handle(), path.c_str()),
                        sparsecollSuccess, ranks.comm(rank));
      if (content(path) != text_of(bytes)) verdict += "the file has other bytes";
      verdict += reduce(ranks, rank, residual, 1, want);
      Bytes shifted(bytes.size() + 3);
      std::copy(bytes.begin(), bytes.end(), shifted.begin() + 3);
      verdict += expect(
          "load", sparsecollResidualLoadFrom(other.handle(), shifted.data() + 3, bytes.size()),
          sparsecollSuccess, ranks.comm(rank));
      verdict += reduce(ranks, rank, other, 1, got);
      verdict += difference("result", got, want);
      return verdict + difference("residual", other.read(), residual.read());
    }) == "");
  }
}

TEST_CASE("too little memory, none, and bytes that are not right are refused") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  Residual<float> residual(comm, kCount);
  residual.write(std::vector<float>(kCount, 2.0f));
  const Bytes sound = save_to(sparsecollResidualSaveTo, residual.handle());
  residual.write(std::vector<float>(kCount, 3.0f));
  const auto says = [&](const std::string& words) {
    INFO(sparsecollGetLastError(comm));
    CHECK(std::string(sparsecollGetLastError(comm)).find(words) != std::string::npos);
  };

  for (const std::size_t capacity : {std::size_t{0}, sound.size() - 1}) {
    Bytes small(sound.size(), std::byte{0x5a});
    std::size_t bytes = capacity;
    CHECK(sparsecollResidualSaveTo(residual.handle(), small.data(), &bytes) ==
          sparsecollInvalidArgument);
    CHECK(bytes == sound.size());
    CHECK(small == Bytes(sound.size(), std::byte{0x5a}));
    says("bytes: expected a capacity of at least " + std::to_string(sound.size()));
  }
  Bytes enough(sound.size());
  CHECK(sparsecollResidualSaveTo(residual.handle(), enough.data(), nullptr) ==
        sparsecollInvalidArgument);
  says("bytes: expected a pointer, got NULL");
  CHECK(sparsecollResidualLoadFrom(residual.handle(), nullptr, sound.size()) ==
        sparsecollInvalidArgument);
  says("buffer: expected a saved state, got NULL");
  for (std::size_t damage = 0; damage < sound.size(); damage += 7) {
    Bytes bad = sound;
    bad[damage] ^= std::byte{0x10};
    CHECK(sparsecollResidualLoadFrom(residual.handle(), bad.data(), bad.size()) ==
          sparsecollInvalidArgument);
    says("buffer: expected ");
    CHECK(sparsecollResidualLoadFrom(residual.handle(), sound.data(), damage) ==
          sparsecollInvalidArgument);
  }
  Bytes longer = sound;
  longer.push_back(std::byte{0});
  CHECK(sparsecollResidualLoadFrom(residual.handle(), longer.data(), longer.size()) ==
        sparsecollInvalidArgument);
  CHECK(difference("residual", residual.read(), std::vector<float>(kCount, 3.0f)) == "");
  CHECK(sparsecollResidualLoadFrom(residual.handle(), sound.data(), sound.size()) ==
        sparsecollSuccess);
  CHECK(difference("residual", residual.read(), std::vector<float>(kCount, 2.0f)) == "");
}

TEST_CASE("a push-sum state in memory has the bytes of its file, and goes on with the same bits") {
  for (const std::size_t k : {std::size_t{0}, std::size_t{3}}) {
    const Folder folder;
    const Ranks ranks(3, default_config());
    CHECK(ranks.run("push-sum", [&](int rank) {
      const sparsecollComm_t comm = ranks.comm(rank);
      sparsecollPushSumConfig_t config = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
      config.k = k;
      config.mixing = 0.5;
      PushSum<double> state(comm, 10, config), other(comm, 10, config);
      auto x = make_data<double>(Kind::kHeavyTail, 10, rank, 3, 1);
      std::string verdict = expect("step", state.step(x), sparsecollSuccess, comm);
      const Bytes bytes = save_to(sparsecollPushSumSaveTo, state.handle());
      verdict += expect("file", sparsecollPushSumSave(state.handle(), folder.file(rank).c_str()),
                        sparsecollSuccess, comm);
      if (content(folder.file(rank)) != text_of(bytes)) verdict += "the file has other bytes";
      auto again = x;
      verdict += expect("step", state.step(x), sparsecollSuccess, comm);
      verdict +=
          expect("load", sparsecollPushSumLoadFrom(other.handle(), bytes.data(), bytes.size()),
                 sparsecollSuccess, comm);
      verdict += expect("step", other.step(again), sparsecollSuccess, comm);
      Bytes buffer = save_to(sparsecollPushSumSaveTo, state.handle());
      std::size_t small = buffer.size() - 1;
      if (sparsecollPushSumSaveTo(state.handle(), buffer.data(), &small) !=
              sparsecollInvalidArgument ||
          small != buffer.size())
        verdict += "too small a capacity";
      if (sparsecollPushSumLoadFrom(state.handle(), bytes.data(), bytes.size() - 1) !=
          sparsecollInvalidArgument)
        verdict += "a state that was cut off";
      return verdict + difference("x", again, x);
    }) == "");
  }
}

/// Returns the sum over the ranks of their residuals. The values are integers, so that nothing
/// rounds.
std::vector<float> sum_of(const std::vector<std::vector<float>>& residuals) {
  std::vector<float> sum(residuals[0].size());
  for (const auto& each : residuals)
    std::transform(sum.begin(), sum.end(), each.begin(), sum.begin(), std::plus<>());
  return sum;
}

/// Restores the residuals of a run of `ranks` ranks in this process, whose states are `saved`.
std::vector<std::vector<float>> values_of(const std::vector<Bytes>& saved) {
  const Ranks old(static_cast<int>(saved.size()), config_of(kOktopk));
  std::vector<std::vector<float>> values;
  for (std::size_t r = 0; r < saved.size(); ++r) {
    const Residual<float> residual(old.comms()[r], kCount);
    CHECK(sparsecollResidualLoadFrom(residual.handle(), saved[r].data(), saved[r].size()) ==
          sparsecollSuccess);
    values.push_back(residual.read());
  }
  return values;
}

// docs/semantics.md#another-number-of-ranks
TEST_CASE("residuals go on with another number of ranks, and their sum is kept") {
  for (const int P : {1, 3, 4}) {
    std::vector<Bytes> saved(static_cast<std::size_t>(P));
    std::vector<std::vector<float>> left(saved.size());
    {
      const Ranks ranks(P, config_of(kOktopk));
      CHECK(ranks.run("before", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        Residual<float> residual(ranks.comm(rank), kCount);
        residual.write(make_data<float>(Kind::kWideIntegers, kCount, rank, P, 3));
        std::vector<float> out;
        const std::string verdict = reduce(ranks, rank, residual, 0, out);
        residual.write(make_data<float>(Kind::kWideIntegers, kCount, rank, P, 4));
        saved[r] = save_to(sparsecollResidualSaveTo, residual.handle());
        left[r] = residual.read();
        return verdict;
      }) == "");
    }
    for (const int new_P : {1, 2, 3, 6}) {
      const Ranks ranks(new_P, config_of(kOktopk));
      std::vector<std::vector<float>> now(static_cast<std::size_t>(new_P));
      const auto old = values_of(saved);
      CHECK(ranks.run("after", [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        Residual<float> residual(ranks.comm(rank), kCount);
        std::vector<float> mine(kCount);
        for (std::size_t q = r; q < old.size(); q += now.size())
          std::transform(mine.begin(), mine.end(), old[q].begin(), mine.begin(), std::plus<>());
        residual.write(mine);
        now[r] = residual.read();
        std::vector<float> out;
        return reduce(ranks, rank, residual, 1, out);
      }) == "");
      INFO(P << " ranks, then " << new_P);
      CHECK(difference("the sum of the residuals", sum_of(now), sum_of(left)) == "");
    }
  }
}

}  // namespace
}  // namespace sparsecoll::test
