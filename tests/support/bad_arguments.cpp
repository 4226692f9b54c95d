// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "support/deviations.hpp"

namespace sparsecoll::test {
namespace {

const void* after(const void* pointer, std::size_t bytes) {
  return static_cast<const char*>(pointer) + bytes;
}

void* after(void* pointer, std::size_t bytes) { return static_cast<char*>(pointer) + bytes; }

Deviation bad(const char* name, bool coordinate_form, void (*apply)(Arguments&, Tensor&)) {
  return {name, coordinate_form, true, apply, {}};
}

Deviation bad_dense(const char* name, void (*apply)(Arguments&, Tensor&)) {
  return bad(name, false, apply);
}

Deviation bad_sparse(const char* name, void (*apply)(Arguments&, Tensor&)) {
  return bad(name, true, apply);
}

/// Returns bad arguments that dense and `v` verbs have in common.
std::vector<Deviation> bad_everywhere(bool form) {
  return {
      bad("op 1", form, [](Arguments& a, Tensor&) { a.op = static_cast<sparsecollRedOp_t>(1); }),
      bad("op max", form, [](Arguments& a, Tensor&) { a.op = sparsecollRedOpMaxEnum; }),
      bad("stream", form,
          [](Arguments& a, Tensor& t) {
            a.stream = reinterpret_cast<sparsecollStream_t>(t.recv.data());
          }),
      bad("residual of another count", form,
          [](Arguments& a, Tensor& t) { a.residual = t.longer.handle(); }),
      bad("residual of another datatype", form,
          [](Arguments& a, Tensor& t) { a.residual = t.doubles.handle(); }),
      bad("residual of another communicator", form,
          [](Arguments& a, Tensor& t) { a.residual = t.foreign; }),
      bad("destroyed residual", form, [](Arguments& a, Tensor& t) { a.residual = t.destroyed; }),
      bad("residual that is none", form,
          [](Arguments& a, Tensor& t) {
            a.residual = reinterpret_cast<sparsecollResidual_t>(t.recv.data());
          }),
  };
}

std::vector<Deviation> bad_structs() {
  return {
      bad_sparse("no send", [](Arguments& a, Tensor&) { a.no_in = true; }),
      bad_sparse("no recv", [](Arguments& a, Tensor&) { a.no_out = true; }),
      bad_sparse("send->size", [](Arguments& a, Tensor&) { a.in.size = 0; }),
      bad_sparse("recv->size", [](Arguments& a, Tensor&) { a.out.size = 0; }),
      bad_sparse("send->reserved", [](Arguments& a, Tensor& t) { a.in.reserved[0] = &t; }),
      bad_sparse("recv->reserved", [](Arguments& a, Tensor& t) { a.out.reserved[2] = &t; }),
      bad_sparse("send->nnzOnDevice", [](Arguments& a, Tensor&) { a.in.nnzOnDevice = &a.in.nnz; }),
      bad_sparse("recv->nnzOnDevice",
                 [](Arguments& a, Tensor&) { a.out.nnzOnDevice = &a.out.nnz; }),
      bad_sparse("index types",
                 [](Arguments& a, Tensor&) { a.in.indexType = a.out.indexType = 2; }),
      bad_sparse("recv->indexType",
                 [](Arguments& a, Tensor& t) {
                   a.out.indexType = sparsecollIndex64;
                   a.out.indices = t.out_wide.data();
                 }),
      bad_sparse("datatypes", [](Arguments& a, Tensor&) { a.in.datatype = a.out.datatype = 99; }),
      bad_sparse("negative datatypes",
                 [](Arguments& a, Tensor&) { a.in.datatype = a.out.datatype = -1; }),
      bad_sparse("recv->datatype",
                 [](Arguments& a, Tensor& t) {
                   a.out.datatype = sparsecollFloat64;
                   a.out.values = t.out_doubles.data();
                 }),
      bad_sparse("send->capacity", [](Arguments& a, Tensor&) { a.in.capacity = a.in.nnz - 1; }),
  };
}

std::vector<Deviation> bad_arrays() {
  return {
      bad_sparse("no send->indices", [](Arguments& a, Tensor&) { a.in.indices = nullptr; }),
      bad_sparse("no send->values", [](Arguments& a, Tensor&) { a.in.values = nullptr; }),
      bad_sparse("no recv->indices", [](Arguments& a, Tensor&) { a.out.indices = nullptr; }),
      bad_sparse("no recv->values", [](Arguments& a, Tensor&) { a.out.values = nullptr; }),
      bad_sparse("unaligned send->indices",
                 [](Arguments& a, Tensor&) { a.in.indices = after(a.in.indices, 1); }),
      bad_sparse("unaligned send->values",
                 [](Arguments& a, Tensor&) { a.in.values = after(a.in.values, 2); }),
      bad_sparse("unaligned recv->indices",
                 [](Arguments& a, Tensor&) { a.out.indices = after(a.out.indices, 2); }),
      bad_sparse("unaligned recv->values",
                 [](Arguments& a, Tensor&) { a.out.values = after(a.out.values, 3); }),
      bad_sparse("the same values", [](Arguments& a, Tensor&) { a.out.values = a.in.values; }),
      bad_sparse("overlapping indices",
                 [](Arguments& a, Tensor&) { a.out.indices = after(a.in.indices, 16); }),
      bad_sparse("recv's indices in send's values",
                 [](Arguments& a, Tensor&) { a.out.indices = after(a.in.values, 4); }),
  };
}

std::vector<Deviation> bad_indices() {
  return {
      bad_sparse("repeated index", [](Arguments&, Tensor& t) { t.in_narrow[7] = t.in_narrow[6]; }),
      bad_sparse("unsorted indices",
                 [](Arguments&, Tensor& t) { std::swap(t.in_narrow[7], t.in_narrow[6]); }),
      bad_sparse("unsorted at the end",
                 [](Arguments&, Tensor& t) { t.in_narrow[Tensor::kEntries - 1] = 0; }),
      bad_sparse(
          "index = count",
          [](Arguments&, Tensor& t) { t.in_narrow[Tensor::kEntries - 1] = Tensor::kLength; }),
      bad_sparse("index far out",
                 [](Arguments&, Tensor& t) { t.in_narrow[Tensor::kEntries - 1] = 0xffffffffu; }),
      bad_sparse("more entries than indices",
                 [](Arguments& a, Tensor&) {
                   a.in.count = Tensor::kEntries - 1;
                   a.residual = nullptr;
                 }),
  };
}

}  // namespace

std::vector<Deviation> bad_dense_arguments() {
  std::vector<Deviation> all = {
      bad_dense("no sendbuff", [](Arguments& a, Tensor&) { a.send = nullptr; }),
      bad_dense("no recvbuff", [](Arguments& a, Tensor&) { a.recv = nullptr; }),
      bad_dense("datatype 0",
                [](Arguments& a, Tensor&) { a.datatype = static_cast<sparsecollDataType_t>(0); }),
      bad_dense("datatype 5",
                [](Arguments& a, Tensor&) { a.datatype = static_cast<sparsecollDataType_t>(5); }),
      bad_dense("datatype int32", [](Arguments& a, Tensor&) { a.datatype = sparsecollInt32; }),
      bad_dense("datatype max",
                [](Arguments& a, Tensor&) { a.datatype = sparsecollDataTypeMaxEnum; }),
      bad_dense("recvbuff inside sendbuff",
                [](Arguments& a, Tensor& t) { a.recv = after(t.send.data(), 4); }),
      bad_dense("sendbuff inside recvbuff",
                [](Arguments& a, Tensor& t) { a.send = after(t.recv.data(), 4); }),
      bad_dense("last element shared",
                [](Arguments& a, Tensor& t) {
                  a.recv = after(t.send.data(), (Tensor::kLength - 1) * sizeof(float));
                }),
      bad_dense("unaligned sendbuff", [](Arguments& a, Tensor&) { a.send = after(a.send, 1); }),
      bad_dense("unaligned recvbuff", [](Arguments& a, Tensor&) { a.recv = after(a.recv, 2); }),
      bad_dense("bytes of count overflow",
                [](Arguments& a, Tensor&) {
                  a.count = SIZE_MAX / 2;
                  a.residual = nullptr;
                }),
  };
  for (const Deviation& deviation : bad_everywhere(false)) all.push_back(deviation);
  return all;
}

std::vector<Deviation> bad_sparse_arguments() {
  std::vector<Deviation> all = bad_structs();
  for (const Deviation& deviation : bad_arrays()) all.push_back(deviation);
  for (const Deviation& deviation : bad_indices()) all.push_back(deviation);
  for (const Deviation& deviation : bad_everywhere(true)) all.push_back(deviation);
  return all;
}

}  // namespace sparsecoll::test
