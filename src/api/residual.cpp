// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Error feedback: the state of one tensor.
#include "api/residual.hpp"

#include <cmath>
#include <cstring>

#include "api/arguments.hpp"
#include "api/bridge.hpp"

namespace sparsecoll {

Residual::Residual(const std::shared_ptr<Communicator>& owner, size_t count, DataType type)
    : owner_(owner), memory_(owner->shared_memory()), count_(count), type_(type) {
  for (Block& buffer : buffer_) buffer = Block(*memory_, bytes());
  std::memset(current(), 0, bytes());
}

void Residual::used_by(const Descriptor& shape, uint64_t sequence) {
  constexpr size_t kShapes = 8;  // one tensor is used with few
  const uint64_t hash = shape.hash();
  std::erase(shapes_, hash);
  if (shapes_.size() == kShapes) shapes_.erase(shapes_.begin());
  shapes_.push_back(hash);
  step_ = sequence;
}

namespace {

/// Runs `body` with kernels of the residual's type.
template <class Body>
void with_kernels(const Residual& residual, Body body) {
  Arena& arena = residual.owner()->arena();
  const Arena::Scope scope(arena);
  body(make_host_kernels(residual.data_type(), IndexType::index64, arena));
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollResidualCreate(sparsecollResidual_t* residual, size_t count,
                                            sparsecollDataType_t datatype, sparsecollComm_t comm) {
  return on_communicator("sparsecollResidualCreate", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.refuse_in_group();
    if (!residual) fail(sparsecollInvalidArgument, "residual: expected a pointer, got NULL");
    const DataType type = check_float_type(datatype);
    if (count > static_cast<size_t>(-1) / 4 / size_of(accumulation(type)))
      fail(sparsecollInvalidArgument, "count: expected a size that fits into memory, got ", count);
    communicator.residuals().reserve(communicator.residuals().size() + 1);
    void* handle = residuals().insert(
        std::make_shared<Residual>(communicator.shared_from_this(), count, type));
    communicator.residuals().push_back(handle);
    *residual = static_cast<sparsecollResidual_t>(handle);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualDestroy(sparsecollResidual_t residual) {
  return on_residual("sparsecollResidualDestroy", residual, [&](Residual& r) {
    r.owner()->refuse_in_group();
    std::erase(r.owner()->residuals(), static_cast<void*>(residual));
    residuals().erase(residual);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualRead(sparsecollResidual_t residual, void* dst) {
  return on_residual("sparsecollResidualRead", residual, [&](const Residual& r) {
    check_array("dst", dst, r.count(), r.value_size());
    with_kernels(r, [&](Kernels& kernels) { kernels.copy_canonical(r.current(), r.count(), dst); });
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualWrite(sparsecollResidual_t residual, const void* src) {
  return on_residual("sparsecollResidualWrite", residual, [&](Residual& r) {
    check_array("src", src, r.count(), r.value_size());
    if (r.count() > 0) std::memmove(r.current(), src, r.bytes());
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualScale(sparsecollResidual_t residual, double factor) {
  return on_residual("sparsecollResidualScale", residual, [&](Residual& r) {
    const bool fits = accumulation(r.data_type()) == DataType::float64 ||
                      std::isfinite(static_cast<float>(factor));
    if (!std::isfinite(factor) || !fits)
      fail(sparsecollInvalidArgument,
           "factor: expected a number finite in the residual's type, got ", factor);
    with_kernels(r, [&](Kernels& kernels) { kernels.scale(r.current(), r.count(), factor); });
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualPointer(sparsecollResidual_t residual, void** pointer) {
  return on_residual("sparsecollResidualPointer", residual, [&](const Residual& r) {
    if (!pointer) fail(sparsecollInvalidArgument, "pointer: expected a pointer, got NULL");
    *pointer = r.current();
    return sparsecollSuccess;
  });
}
