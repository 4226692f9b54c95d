// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Bad arguments of local functions have no effect, and other ranks do not notice.

#include "support/attempt.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"
#include "support/sparse_data.hpp"

namespace sparsecoll::test {
namespace {

constexpr std::size_t n = Tensor::kLength;
constexpr std::size_t k = Tensor::kKept;

struct TopkArguments {
  const void* dense;
  std::size_t count;
  sparsecollDataType_t datatype;
  sparsecollResidual_t residual;
  sparsecollSparse_t* out;
  sparsecollComm_t comm;
  sparsecollStream_t stream;
};

struct BadTopk {
  const char* name;
  void (*spoil)(TopkArguments&, Tensor&);
};

void* after(void* pointer, std::size_t bytes) { return static_cast<char*>(pointer) + bytes; }

const BadTopk kBadTopks[] = {
    {"no dense", [](TopkArguments& a, Tensor&) { a.dense = nullptr; }},
    {"unaligned dense", [](TopkArguments& a, Tensor& t) { a.dense = after(t.send.data(), 1); }},
    {"datatype",
     [](TopkArguments& a, Tensor&) { a.datatype = static_cast<sparsecollDataType_t>(4); }},
    {"integers",
     [](TopkArguments& a, Tensor&) { a.datatype = sparsecollInt32, a.out->datatype = 2; }},
    {"no out", [](TopkArguments& a, Tensor&) { a.out = nullptr; }},
    {"no comm", [](TopkArguments& a, Tensor&) { a.comm = nullptr; }},
    {"stream", [](TopkArguments& a,
                  Tensor& t) { a.stream = reinterpret_cast<sparsecollStream_t>(t.recv.data()); }},
    {"destroyed residual", [](TopkArguments& a, Tensor& t) { a.residual = t.destroyed; }},
    {"foreign residual", [](TopkArguments& a, Tensor& t) { a.residual = t.foreign; }},
    {"longer residual", [](TopkArguments& a, Tensor& t) { a.residual = t.longer.handle(); }},
    {"other residual", [](TopkArguments& a, Tensor& t) { a.residual = t.doubles.handle(); }},
    {"capacity", [](TopkArguments& a, Tensor&) { a.out->capacity = k - 1; }},
    {"size", [](TopkArguments& a, Tensor&) { a.out->size = 0; }},
    {"reserved", [](TopkArguments& a, Tensor& t) { a.out->reserved[1] = &t; }},
    {"nnzOnDevice", [](TopkArguments& a, Tensor&) { a.out->nnzOnDevice = &a.out->nnz; }},
    {"index type", [](TopkArguments& a, Tensor&) { a.out->indexType = 7; }},
    {"out's datatype", [](TopkArguments& a, Tensor&) { a.out->datatype = sparsecollFloat64; }},
    {"no indices", [](TopkArguments& a, Tensor&) { a.out->indices = nullptr; }},
    {"no values", [](TopkArguments& a, Tensor&) { a.out->values = nullptr; }},
    {"unaligned", [](TopkArguments& a, Tensor&) { a.out->values = after(a.out->values, 1); }},
    {"out in dense", [](TopkArguments& a, Tensor& t) { a.out->values = t.send.data(); }},
};

TEST_CASE("sparsecollTopk refuses bad arguments and changes nothing") {
  const Ranks ranks(2, default_config());
  const Ranks other(1, default_config());
  const Residual<float> foreign(other.comm(0), n);
  for (const BadTopk& bad : kBadTopks) {
    Tensor tensor(ranks.comm(0), 0, foreign.handle());
    Arguments memory = tensor.usual(true, Verb::kSparse);
    TopkArguments a{
        tensor.send.data(), n,      sparsecollFloat32, tensor.residual.handle(), &memory.out,
        ranks.comm(0),      nullptr};
    bad.spoil(a, tensor);
    const auto before = tensor.image(memory);
    INFO(bad.name);
    CHECK(sparsecollTopk(a.dense, a.count, k, a.datatype, a.residual, a.out, a.comm, a.stream) ==
          sparsecollInvalidArgument);
    CHECK(tensor.image(memory) == before);
  }
}

struct BadScatter {
  const char* name;
  void (*spoil)(Arguments&, Tensor&);
};

const BadScatter kBadScatters[] = {
    {"no dense", [](Arguments& a, Tensor&) { a.recv = nullptr; }},
    {"unaligned dense", [](Arguments& a, Tensor&) { a.recv = after(a.recv, 2); }},
    {"dense over values", [](Arguments& a, Tensor& t) { a.recv = t.in_values.data(); }},
    {"stream",
     [](Arguments& a, Tensor& t) { a.stream = reinterpret_cast<sparsecollStream_t>(&t); }},
    {"no comm", [](Arguments& a, Tensor&) { a.comm = nullptr; }},
    {"size", [](Arguments& a, Tensor&) { a.in.size = 0; }},
    {"reserved", [](Arguments& a, Tensor& t) { a.in.reserved[0] = &t; }},
    {"index type", [](Arguments& a, Tensor&) { a.in.indexType = -1; }},
    {"datatype", [](Arguments& a, Tensor&) { a.in.datatype = 0; }},
    {"no indices", [](Arguments& a, Tensor&) { a.in.indices = nullptr; }},
    {"no values", [](Arguments& a, Tensor&) { a.in.values = nullptr; }},
    {"index = count", [](Arguments&, Tensor& t) { t.in_narrow[Tensor::kEntries - 1] = n; }},
    {"repeated", [](Arguments&, Tensor& t) { t.in_narrow[3] = t.in_narrow[2]; }},
    {"unsorted", [](Arguments&, Tensor& t) { std::swap(t.in_narrow[3], t.in_narrow[2]); }},
};

TEST_CASE("sparsecollScatter refuses bad arguments and changes nothing") {
  const Ranks ranks(2, default_config());
  for (const BadScatter& bad : kBadScatters) {
    Tensor tensor(ranks.comm(0), 0, nullptr);
    Arguments a = tensor.usual(true, Verb::kSparse);
    bad.spoil(a, tensor);
    const auto before = tensor.image(a);
    INFO(bad.name);
    CHECK(sparsecollScatter(&a.in, a.recv, a.comm, a.stream) == sparsecollInvalidArgument);
    CHECK(tensor.image(a) == before);
  }
  std::vector<float> dense(4);
  CHECK(sparsecollScatter(nullptr, dense.data(), ranks.comm(0), nullptr) ==
        sparsecollInvalidArgument);
}

TEST_CASE("sparsecollScatterAt refuses what sparsecollScatter refuses, and other regions") {
  const Ranks ranks(2, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  for (const BadScatter& bad : kBadScatters) {
    Tensor tensor(comm, 0, nullptr);
    Arguments a = tensor.usual(true, Verb::kSparse);
    bad.spoil(a, tensor);
    const auto before = tensor.image(a);
    INFO(bad.name);
    CHECK(sparsecollScatterAt(&a.in, a.recv, 0, n, a.comm, a.stream) == sparsecollInvalidArgument);
    CHECK(tensor.image(a) == before);
  }
  const SparseBuffer<float> in(20, sparsecollIndex32, {{5, 1.0f}, {9, 2.0f}});
  std::vector<float> dense(20, 7.0f);
  struct {
    std::size_t offset, length;
    const char* words;
  } const bads[] = {{6, 14, "of the region from 6 to 20, got something else at entry 0"},
                    {5, 4, "of the region from 5 to 9, got something else at entry 1"},
                    {0, 0, "of the region from 0 to 0, got something else at entry 0"},
                    {21, 0, "offset: expected at most in.count = 20, got 21"},
                    {5, 16, "length: expected at most in.count - offset = 15, got 16"},
                    {5, SIZE_MAX, "length: expected at most"}};
  for (const auto& bad : bads) {
    CHECK(sparsecollScatterAt(in.get(), dense.data(), bad.offset, bad.length, comm, nullptr) ==
          sparsecollInvalidArgument);
    INFO(sparsecollGetLastError(comm));
    CHECK(std::string(sparsecollGetLastError(comm)).find(bad.words) != std::string::npos);
  }
  CHECK(dense == std::vector<float>(20, 7.0f));
  CHECK(sparsecollScatterAt(nullptr, dense.data(), 0, 0, comm, nullptr) ==
        sparsecollInvalidArgument);
}

TEST_CASE("residual functions refuse NULL and bad types") {
  const Ranks ranks(1, default_config());
  const Residual<float> good(ranks.comm(0), 5);
  sparsecollResidual_t residual = nullptr;
  std::vector<float> values(5);
  void* pointer = nullptr;
  const auto bad_type = static_cast<sparsecollDataType_t>(5);
  const sparsecollComm_t comm = ranks.comm(0);
  CHECK(sparsecollResidualCreate(nullptr, 5, sparsecollFloat32, comm) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualCreate(&residual, 5, bad_type, comm) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualCreate(&residual, 5, sparsecollInt64, comm) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualCreate(&residual, 5, sparsecollFloat32, nullptr) ==
        sparsecollInvalidArgument);
  const sparsecollResult_t huge =
      sparsecollResidualCreate(&residual, SIZE_MAX / 4, sparsecollFloat64, comm);
  CHECK((huge == sparsecollInvalidArgument || huge == sparsecollSystemError));
  CHECK(sparsecollResidualRead(nullptr, values.data()) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualRead(good.handle(), nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualWrite(nullptr, values.data()) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualWrite(good.handle(), nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualScale(nullptr, 1.0) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualPointer(nullptr, &pointer) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualPointer(good.handle(), nullptr) == sparsecollInvalidArgument);
  std::size_t bytes = 0;
  CHECK(sparsecollResidualSaveTo(nullptr, nullptr, &bytes) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualLoadFrom(nullptr, values.data(), 5) == sparsecollInvalidArgument);
  CHECK(sparsecollResidualDestroy(nullptr) == sparsecollInvalidArgument);
  CHECK(difference("the residual", good.read(), std::vector<float>(5, 0.0f)) == "");
}

TEST_CASE("questions to a communicator refuse NULL") {
  const Ranks ranks(1, default_config());
  const sparsecollComm_t comm = ranks.comm(0);
  int number = 0;
  std::uint64_t sequence = 0;
  sparsecollResult_t error = sparsecollSuccess;
  CHECK(sparsecollCommRank(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommCount(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetSequence(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetAsyncError(comm, nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommRank(nullptr, &number) == sparsecollInvalidArgument);
  CHECK(sparsecollCommCount(nullptr, &number) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetSequence(nullptr, &sequence) == sparsecollInvalidArgument);
  CHECK(sparsecollCommGetAsyncError(nullptr, &error) == sparsecollInvalidArgument);
  CHECK(sparsecollCommAbort(nullptr) == sparsecollInvalidArgument);
  CHECK(sparsecollCommDestroy(nullptr) == sparsecollInvalidArgument);
}

}  // namespace
}  // namespace sparsecoll::test
