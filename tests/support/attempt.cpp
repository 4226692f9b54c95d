// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/attempt.hpp"

#include "support/compare.hpp"
#include "support/data.hpp"

namespace sparsecoll::test {
namespace {

template <class X>
void add_to(std::vector<std::uint64_t>& image, const std::vector<X>& values) {
  for (const X value : values) {
    if constexpr (std::is_floating_point_v<X>) {
      image.push_back(bits(value));
    } else {
      image.push_back(value);
    }
  }
}

sparsecollResult_t call(Arguments& a) {
  if (!a.coordinate_form) {
    const auto function = a.verb == Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
    return function(a.send, a.recv, a.count, a.k, a.datatype, a.op, a.residual, a.comm, a.stream);
  }
  const auto function = a.verb == Verb::kGtopk ? gtopkAllreducev : sparseAllreducev;
  return function(a.no_in ? nullptr : &a.in, a.no_out ? nullptr : &a.out, a.k, a.op, a.residual,
                  a.comm, a.stream);
}

}  // namespace

Tensor::Tensor(sparsecollComm_t owner, int rank, sparsecollResidual_t foreign_residual)
    : comm(owner),
      send(make_data<float>(Kind::kWideIntegers, 2 * kLength + 16, rank, rank + 1, 5)),
      recv(2 * kLength + 16, -77.0f),
      out_narrow(2 * kEntries, 0xabadcafeu),
      out_wide(2 * kEntries, 0xabadcafeu),
      out_values(2 * kEntries, -77.0f),
      out_doubles(2 * kEntries, -77.0),
      residual(owner, kLength),
      longer(owner, kLength + 1),
      doubles(owner, kLength),
      foreign(foreign_residual) {
  residual.write(make_data<float>(Kind::kWideIntegers, kLength, rank, rank + 1, 6));
  longer.write(make_data<float>(Kind::kWideIntegers, kLength + 1, rank, rank + 1, 7));
  doubles.write(make_data<double>(Kind::kWideIntegers, kLength, rank, rank + 1, 8));
  for (std::size_t i = 0; i < kEntries; ++i) {
    in_wide.push_back(i * 20 + static_cast<unsigned>(rank) % 20);
    in_narrow.push_back(static_cast<std::uint32_t>(in_wide.back()));
    in_values.push_back(send[i]);
    in_doubles.push_back(send[i]);
  }
  // The arrays have room behind the entries, because some tests shift the pointers.
  in_wide.resize(kEntries + 8);
  in_narrow.resize(kEntries + 8);
  in_values.resize(kEntries + 8);
  in_doubles.resize(kEntries + 8);
  sparsecollResidualCreate(&destroyed, kLength, sparsecollFloat32, owner);
  sparsecollResidualDestroy(destroyed);
}

Arguments Tensor::usual(bool coordinate_form, Verb verb) {
  Arguments a{coordinate_form,
              verb,
              send.data(),
              recv.data(),
              kLength,
              kKept,
              sparsecollFloat32,
              sparsecollSum,
              residual.handle(),
              comm,
              nullptr,
              SPARSECOLL_SPARSE_INITIALIZER,
              SPARSECOLL_SPARSE_INITIALIZER,
              false,
              false};
  a.in.count = kLength;
  a.in.nnz = kEntries;
  a.in.capacity = kEntries;
  a.in.indices = in_narrow.data();
  a.in.values = in_values.data();
  a.in.indexType = sparsecollIndex32;
  a.in.datatype = sparsecollFloat32;
  a.out = a.in;
  a.out.count = 0;
  a.out.nnz = 0;
  a.out.indices = out_narrow.data();
  a.out.values = out_values.data();
  return a;
}

std::vector<std::uint64_t> Tensor::image(const Arguments& a) const {
  std::vector<std::uint64_t> image{a.out.count, a.out.nnz, a.out.capacity, a.out.needed,
                                   a.in.count,  a.in.nnz,  a.in.capacity,  a.in.needed};
  add_to(image, send);
  add_to(image, recv);
  add_to(image, in_narrow);
  add_to(image, out_narrow);
  add_to(image, in_wide);
  add_to(image, out_wide);
  add_to(image, in_values);
  add_to(image, out_values);
  add_to(image, in_doubles);
  add_to(image, out_doubles);
  add_to(image, residual.read());
  add_to(image, longer.read());
  add_to(image, doubles.read());
  return image;
}

Attempt attempt(const Tensor& tensor, Arguments arguments) {
  const std::vector<std::uint64_t> before = tensor.image(arguments);
  Attempt done{};
  done.start = std::chrono::steady_clock::now();
  done.result = call(arguments);
  done.end = std::chrono::steady_clock::now();
  done.message = sparsecollGetLastError(tensor.comm);
  done.changed = tensor.image(arguments) != before;
  sparsecollCommGetSequence(tensor.comm, &done.sequence);
  return done;
}

}  // namespace sparsecoll::test
