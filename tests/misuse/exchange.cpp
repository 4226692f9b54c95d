// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "misuse/exchange.hpp"

namespace sparsecoll::test {
namespace {

std::vector<Difference> differences_of_bounds(bool reduces) {
  return {
      {"bounds[2]",
       reduces,
       false,
       [](ExchangeCall& c) { c.borders[2] = 51; },
       {{"bounds[2]"}, {"50"}, {"51"}}},
      {"bounds NULL",
       reduces,
       false,
       [](ExchangeCall& c) { c.bounds = nullptr; },
       {{"bounds[1]"}, {"20"}, {"25"}}},
      {"bounds[0] not 0",
       reduces,
       true,
       [](ExchangeCall& c) { c.borders[0] = 1; },
       {{"bounds[0]"}, {"1"}}},
      {"bounds falling",
       reduces,
       true,
       [](ExchangeCall& c) { c.borders[3] = 49; },
       {{"bounds[3]"}, {"50"}, {"49"}}},
      {"bounds beyond count",
       reduces,
       true,
       [](ExchangeCall& c) { c.borders[4] = kCount + 1; },
       {{"bounds[4]"}, {"100"}, {"101"}}},
      {"bounds short of count",
       reduces,
       true,
       [](ExchangeCall& c) { c.borders[4] = kCount - 1; },
       {{"bounds[4]"}, {"100"}, {"99"}}},
      {"unaligned bounds",
       reduces,
       true,
       [](ExchangeCall& c) {
         c.bounds = reinterpret_cast<const std::size_t*>(
             reinterpret_cast<const char*>(c.borders.data()) + 1);
       },
       {{"bounds"}}},
      {"stream",
       reduces,
       true,
       [](ExchangeCall& c) { c.stream = reinterpret_cast<sparsecollStream_t>(c.dense.data()); },
       {{"stream"}}},
      {"no recv", reduces, true, [](ExchangeCall& c) { c.recv = nullptr; }, {{"recv"}}},
      {"recv->size", reduces, true, [](ExchangeCall& c) { c.out.size = 3; }, {{"recv.size"}}},
      {"recv->datatype",
       reduces,
       true,
       [](ExchangeCall& c) { c.out.datatype = sparsecollFloat64; },
       {{"recv.datatype"}}},
      {"no recv->values",
       reduces,
       true,
       [](ExchangeCall& c) { c.out.values = nullptr; },
       {{"recv.values"}}},
      {"function",
       reduces,
       false,
       [](ExchangeCall& c) { c.reduces = !c.reduces; },
       {{kFunction[0]}, {kFunction[1]}}},
  };
}

std::vector<Difference> differences_of_alltoall() {
  return {
      {"no send", false, true, [](ExchangeCall& c) { c.send = nullptr; }, {{"send"}}},
      {"unsorted",
       false,
       true,
       [](ExchangeCall& c) { static_cast<std::uint32_t*>(c.in.indices)[1] = 1; },
       {{"send.indices"}}},
      {"out of range",
       false,
       true,
       [](ExchangeCall& c) { static_cast<std::uint32_t*>(c.in.indices)[2] = 100; },
       {{"send.indices"}}},
      {"recv's arrays are send's",
       false,
       true,
       [](ExchangeCall& c) {
         c.out.values = c.in.values;
         c.out.capacity = c.in.capacity;
       },
       {{"send.values"}, {"recv.values"}}},
      {"recvcounts in recv",
       false,
       true,
       [](ExchangeCall& c) {
         c.out.values = c.spare.data();
         c.recvcounts = reinterpret_cast<std::size_t*>(c.spare.data());
       },
       {{"recvcounts"}, {"recv.values"}}},
      {"unaligned recvcounts",
       false,
       true,
       [](ExchangeCall& c) {
         c.recvcounts =
             reinterpret_cast<std::size_t*>(reinterpret_cast<char*>(c.counts.data()) + 4);
       },
       {{"recvcounts"}}},
      {"recv->indexType",
       false,
       true,
       [](ExchangeCall& c) { c.out.indexType = sparsecollIndex64; },
       {{"recv.indexType"}}},
      {"count",
       false,
       false,
       [](ExchangeCall& c) {
         c.in.count = kCount + 1;
         c.borders[4] = kCount + 1;
       },
       {{"count"}, {"100"}, {"101"}}},
      {"index type",
       false,
       false,
       [](ExchangeCall& c) {
         c.in.indexType = c.out.indexType = sparsecollIndex64;
         c.in.nnz = c.in.capacity = 0;
         c.out.indices = c.spare.data();
       },
       {{"indexType"}, {"sparsecollIndex32"}, {"sparsecollIndex64"}}},
  };
}

std::vector<Difference> differences_of_reduce_scatter() {
  return {
      {"no sendbuff", true, true, [](ExchangeCall& c) { c.sendbuff = nullptr; }, {{"sendbuff"}}},
      {"recv in sendbuff",
       true,
       true,
       [](ExchangeCall& c) { c.out.values = c.dense.data() + 3; },
       {{"sendbuff"}, {"recv.values"}}},
      {"datatype",
       true,
       true,
       [](ExchangeCall& c) { c.datatype = static_cast<sparsecollDataType_t>(99); },
       {{"datatype"}, {"99"}}},
      {"bad op",
       true,
       true,
       [](ExchangeCall& c) { c.op = static_cast<sparsecollRedOp_t>(1); },
       {{"op"}}},
      {"residual of another type",
       true,
       true,
       [](ExchangeCall& c) { c.feedback = c.doubles.handle(); },
       {{"residual"}, {"datatype"}}},
      {"k", true, false, [](ExchangeCall& c) { c.k = 11; }, {{"k"}, {"10"}, {"11"}}},
      {"op",
       true,
       false,
       [](ExchangeCall& c) { c.op = sparsecollAvg; },
       {{"op"}, {"sparsecollSum"}, {"sparsecollAvg"}}},
      {"index type",
       true,
       false,
       [](ExchangeCall& c) {
         c.out.indexType = sparsecollIndex64;
         c.out.indices = c.spare.data();
       },
       {{"indexType"}, {"sparsecollIndex32"}, {"sparsecollIndex64"}}},
  };
}

}  // namespace

std::vector<Difference> all_differences() {
  std::vector<Difference> all = differences_of_bounds(false);
  for (const auto& more :
       {differences_of_bounds(true), differences_of_alltoall(), differences_of_reduce_scatter()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace sparsecoll::test
