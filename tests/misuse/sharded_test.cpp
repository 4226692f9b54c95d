// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Sharded and its residuals refuse some calls; the messages say why.

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/deviations.hpp"
#include "support/folder.hpp"
#include "support/sparse_data.hpp"
#include "support/sweep.hpp"
#include "support/typed.hpp"
#include "support/variable.hpp"

namespace sparsecoll::test {
namespace {

constexpr const char* kVariable = "SPARSECOLL_RANKS_PER_NODE";
constexpr std::size_t kLength = 100;

/// Returns "" if a call failed with InvalidArgument and the words are in its message.
std::string refused(sparsecollResult_t result, sparsecollComm_t comm,
                    const std::vector<std::string>& words) {
  result = settle(result, comm);
  if (result != sparsecollInvalidArgument) return "not refused: " + explain(result, comm);
  const std::string message = sparsecollGetLastError(comm);
  for (const std::string& word : words) {
    if (message.find(word) == std::string::npos) return "'" + word + "' is not in: " + message;
  }
  return "";
}

/// Checks that the communicator works, and that the residual is unchanged.
std::string goes_on(sparsecollComm_t comm, const Residual<float>& residual,
                    const std::vector<float>& before) {
  if (residual.read() != before) return "the residual has changed";
  std::vector<float> x(kLength, 1.0f);
  const DenseCall<float> call{x.data(), x.data(), kLength, 5};
  return expect("the next call", call_dense_verb(Verb::kSparse, call, comm), sparsecollSuccess,
                comm);
}

TEST_CASE("residuals of Sharded are for its two verbs only") {
  const Variable nodes(kVariable, "2");
  const Ranks ranks(4, config_of(kSharded));
  CHECK(ranks.run("refusals", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Residual<float> residual(comm, kLength);
    residual.write(std::vector<float>(kLength, 3.0f));
    const std::vector<float> before = residual.read();
    std::vector<float> x(kLength, 1.0f), y(kLength);
    std::string verdict =
        refused(gtopkAllreduce(x.data(), y.data(), kLength, 5, sparsecollFloat32, sparsecollSum,
                               residual.handle(), comm, nullptr),
                comm, {"residual", "expected one that holds all values", "sparsecollAlgoSharded"});
    const SparseBuffer<float> send(kLength, sparsecollIndex32, oracle::Sparse<float>{{3, 1.0f}});
    SparseBuffer<float> recv(kLength, sparsecollIndex32, kLength);
    verdict += refused(
        gtopkAllreducev(send.get(), recv.get(), 5, sparsecollSum, residual.handle(), comm, nullptr),
        comm, {"residual", "sparsecollAlgoSharded"});
    verdict +=
        refused(sparseAllreducev(send.get(), recv.get(), 5, sparsecollSum, nullptr, comm, nullptr),
                comm, {"algorithm", "coordinate form", "sharded"});
    verdict += refused(sparsecollTopk(x.data(), kLength, 5, sparsecollFloat32, residual.handle(),
                                      recv.get(), comm, nullptr),
                       comm, {"residual", "sparsecollAlgoSharded"});
    void* pointer = nullptr;
    verdict += refused(sparsecollResidualPointer(residual.handle(), &pointer), comm,
                       {"residual", "all 100 values", "sparsecollAlgoSharded"});
    if (pointer != nullptr) verdict += "the pointer was written";
    return verdict + goes_on(comm, residual, before);
  }) == "");
}

TEST_CASE("bounds that do not agree with the shards are refused, with rank and region") {
  const Variable nodes(kVariable, "2");
  const Ranks ranks(4, config_of(kSharded));
  CHECK(ranks.run("refusals", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Residual<float> residual(comm, kLength);
    std::vector<float> x(kLength, 1.0f);
    SparseBuffer<float> recv(kLength, sparsecollIndex32, kLength);
    const auto call = [&](const std::vector<std::size_t>& bounds) {
      return sparseReduceScatter(x.data(), recv.get(), kLength, 5, sparsecollFloat32, sparsecollSum,
                                 bounds.empty() ? nullptr : bounds.data(), residual.handle(), comm,
                                 nullptr);
    };
    // Ranks 0 and 2 own the first half, ranks 1 and 3 the second.
    std::string verdict =
        refused(call({}), comm, {"bounds", "25 to 50", "rank 1", "sparsecollAlgoSharded"});
    verdict += refused(call({0, 51, 100, 100, 100}), comm, {"bounds", "0 to 51", "rank 0"});
    verdict += refused(call({0, 50, 100, 100, 99}), comm, {"bounds[4]"});
    verdict +=
        expect("good bounds", settle(call({0, 50, 100, 100, 100}), comm), sparsecollSuccess, comm);
    return verdict + goes_on(comm, residual, residual.read());
  }) == "");
}

TEST_CASE("a residual knows its rule when it is made, also where Auto may take Sharded") {
  const Variable nodes(kVariable, "2");
  sparsecollConfig_t config = default_config();
  config.allowSharded = 1;
  const Ranks ranks(4, config);
  constexpr std::size_t kLong = std::size_t{1} << 20;
  CHECK(ranks.run("pointers", [&](int rank) {
    const sparsecollComm_t comm = ranks.comm(rank);
    Residual<float> small(comm, 10), large(comm, kLong);
    void* pointer = nullptr;
    std::string verdict = expect("pointer", sparsecollResidualPointer(small.handle(), &pointer),
                                 sparsecollSuccess, comm);
    verdict += refused(sparsecollResidualPointer(large.handle(), &pointer), comm, {"residual"});
    // Reduce-scatter: where bounds do not agree with the shards, Auto does not take Sharded.
    std::vector<float> x(kLong, 1.0f);
    SparseBuffer<float> recv(kLong, sparsecollIndex32, 100);
    const auto call = [&](sparsecollResidual_t residual) {
      return settle(sparseReduceScatter(x.data(), recv.get(), kLong, 5, sparsecollFloat32,
                                        sparsecollSum, nullptr, residual, comm, nullptr),
                    comm);
    };
    verdict += refused(call(large.handle()), comm, {"residual", "sparsecollAlgoSharded"});
    return verdict + expect("without", call(nullptr), sparsecollSuccess, comm);
  }) == "");
}

TEST_CASE("ranks that allow different things are told so") {
  sparsecollConfig_t config = default_config();
  for (const char* value : {"2", "yes", ""}) {
    const Variable variable("SPARSECOLL_ALLOW_SHARDED", value);
    sparsecollComm_t comms[2] = {};
    CHECK(sparsecollCommInitAll(comms, 2, nullptr, &config) == sparsecollInvalidArgument);
    CHECK(has_word(sparsecollGetLastError(nullptr), "SPARSECOLL_ALLOW_SHARDED"));
  }
  config.algorithm = sparsecollAlgoSharded;
  config.selection = sparsecollSelectReuse;
  sparsecollComm_t comms[2] = {};
  CHECK(sparsecollCommInitAll(comms, 2, nullptr, &config) == sparsecollInvalidArgument);
  CHECK(has_word(sparsecollGetLastError(nullptr), "sharded"));
}

// --- read, write, scale, save and load

TEST_CASE("a residual of Sharded is read and written as n values, of which it holds a shard") {
  const Variable nodes(kVariable, "3");
  const Ranks ranks(5, config_of(kSharded));  // nodes of 3 and 2 ranks: two shards
  std::vector<float> values(kLength);
  for (std::size_t i = 0; i < kLength; ++i) values[i] = static_cast<float>(i + 1);
  for (int rank = 0; rank < 5; ++rank) {
    const bool first = rank % 3 == 0, second = rank % 3 == 1;
    std::vector<float> want(kLength, 0);
    for (std::size_t i = 0; i < kLength; ++i) {
      if (i < kLength / 2 ? first : second) want[i] = values[i];
    }
    Residual<float> residual(ranks.comm(rank), kLength);
    CHECK(residual.read() == std::vector<float>(kLength, 0));
    residual.write(values);
    CHECK(difference("written", residual.read(), want) == "");
    CHECK(sparsecollResidualScale(residual.handle(), 0.5) == sparsecollSuccess);
    for (float& value : want) value /= 2;
    CHECK(difference("scaled", residual.read(), want) == "");
    const Folder folder;
    const std::string path = folder.file("residual");
    CHECK(sparsecollResidualSave(residual.handle(), path.c_str()) == sparsecollSuccess);
    Residual<float> other(ranks.comm(rank), kLength);
    CHECK(sparsecollResidualLoad(other.handle(), path.c_str()) == sparsecollSuccess);
    CHECK(difference("loaded", other.read(), want) == "");
  }
}

TEST_CASE("a file is refused by a residual that holds other indices") {
  const Folder folder;
  const std::string shard = folder.file("shard"), whole = folder.file("whole");
  const auto save = [&](const Mode& mode, const std::string& path) {
    const Variable nodes(kVariable, "2");
    const Ranks ranks(4, config_of(mode));
    const Residual<float> residual(ranks.comm(1), kLength);
    CHECK(sparsecollResidualSave(residual.handle(), path.c_str()) == sparsecollSuccess);
  };
  save(kSharded, shard);
  save(kOktopk, whole);
  const auto load = [&](const Mode& mode, const char* per_node, const std::string& path) {
    const Variable nodes(kVariable, per_node);
    const Ranks ranks(4, config_of(mode));
    const Residual<float> residual(ranks.comm(1), kLength);
    const sparsecollResult_t result = sparsecollResidualLoad(residual.handle(), path.c_str());
    CHECK(result == sparsecollInvalidArgument);
    return std::string(sparsecollGetLastError(ranks.comm(1)));
  };
  CHECK(has_word(load(kSharded, "2", whole), "a shard"));
  CHECK(has_word(load(kOktopk, "2", shard), "the whole tensor"));
  // Four ranks on one node have four shards; rank 1 owns the second one.
  const std::string message = load(kSharded, "4", shard);
  CHECK(has_word(message, "25 to 50"));
  CHECK(has_word(message, "50 to 100"));
}

}  // namespace
}  // namespace sparsecoll::test
