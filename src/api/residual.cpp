// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/residual.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/arguments.hpp"
#include "api/bridge.hpp"
#include "api/sharding.hpp"
#include "calls/stream/stream_link.hpp"

namespace sparsecoll {

Residual::Residual(const std::shared_ptr<Communicator>& owner, const ResidualExtent& extent,
                   DataType type)
    : owner_(owner),
      memory_(owner->backends().memory(kHost)),
      extent_(extent),
      type_(type),
      most_versions_(owner->size() == 1                   ? 0
                     : link_as<StreamLink>(owner->link()) ? 2
                                                          : 1) {
  // If calls may use device memory, the first call allocates the residual: it must be where the
  // call's buffers are.
  if (owner->backends().device_number() == kHost) move_to(kHost, *owner);
}

void Residual::move_to(int device, Communicator& owner) {
  if (made_ && device == device_) return;
  const std::shared_ptr<Memory> memory = owner.backends().memory(device);
  Block there[2] = {Block(*memory, bytes()), Block(*memory, bytes())};
  if (made_) {
    move_to(there[0].data(), device, owner);
  } else if (device == kHost) {
    std::memset(there[0].data(), 0, bytes());
  } else {
    owner.backends().kernels(device, type_, IndexType::index64).zero(there[0].data(), held_count());
  }
  std::swap(buffer_[now_], there[0]);
  std::swap(buffer_[next_], there[1]);
  memory_ = memory;
  device_ = device;
  made_ = true;
}

void Residual::move_to(std::byte* there, int device, Communicator& owner) {
  if (device_ != kHost) owner.backends().device(device_).begin(std::nullopt);
  Kernels& kernels = owner.backends().kernels(std::max(device, device_), type_, IndexType::index64);
  if (device == kHost) return kernels.download(current(), {there, bytes()});
  kernels.copy(kernels.upload({current(), bytes()}), bytes(), there);
  kernels.read(kernels.counts(1));  // waits until the host's memory may be freed
}

void Residual::read_canonical(Bytes to) {
  with_kernels(*this, [&](Kernels& kernels) {
    std::byte* const at = kernels.download_buffer(to);
    kernels.copy_canonical(current(), held_count(), at);
    kernels.download(at, to);
  });
}

void Residual::write(ConstBytes from) {
  move_to(device_, *owner());
  forget_undo();
  if (device_ == kHost) {
    if (held_count() > 0) std::memmove(current(), from.data(), bytes());
    return;
  }
  with_kernels(*this, [&](Kernels& kernels) {
    kernels.copy(kernels.upload(from), bytes(), current());
    kernels.read(kernels.counts(1));  // waits until the source is no longer read
  });
}

void Residual::record_call(const Descriptor& shape, uint64_t sequence) {
  const uint64_t hash = shape.hash();
  std::erase(shapes_, hash);
  if (shapes_.size() == kMostShapes) shapes_.erase(shapes_.begin());
  shapes_.push_back(hash);
  step_ = sequence;
  used_ = true;
}

void with_kernels(Residual& residual, FunctionRef<void(Kernels&)> body) {
  Communicator& owner = *residual.owner();
  const Workspace workspace(owner.backends());
  residual.move_to(residual.device(), owner);
  if (residual.device() != kHost) owner.backends().device(residual.device()).begin(std::nullopt);
  body(owner.backends().kernels(residual.device(), residual.data_type(), IndexType::index64));
}

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollResidualCreate(sparsecollResidual_t* residual, size_t count,
                                            sparsecollDataType_t datatype, sparsecollComm_t comm) {
  return on_communicator("sparsecollResidualCreate", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    if (!residual) fail(sparsecollInvalidArgument, "residual: expected a pointer, got NULL");
    const DataType type = check_float_type(datatype);
    if (count > static_cast<size_t>(-1) / 4 / size_of(accumulation(type)))
      fail(sparsecollInvalidArgument, "count: expected a size that fits into memory, got ", count);
    void* const handle = communicator.residuals().insert(std::make_shared<Residual>(
        communicator.shared_from_this(), residual_extent(communicator, count, type), type));
    *residual = static_cast<sparsecollResidual_t>(handle);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualDestroy(sparsecollResidual_t residual) {
  return on_residual("sparsecollResidualDestroy", residual, [&](Residual& r) {
    r.owner()->group().check_closed();
    r.owner()->residuals().erase(residual);
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualRead(sparsecollResidual_t residual, void* dst) {
  return on_residual("sparsecollResidualRead", residual, [&](Residual& r) {
    check_array("dst", dst, r.count(), r.value_size());
    check_on_host("dst", dst);
    auto* const values = static_cast<std::byte*>(dst);
    const size_t begin = r.held().begin * r.value_size(), end = begin + r.bytes();
    std::fill_n(values, begin, std::byte{0});
    std::fill_n(values + end, r.count() * r.value_size() - end, std::byte{0});
    r.read_canonical({values + begin, r.bytes()});
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualWrite(sparsecollResidual_t residual, const void* src) {
  return on_residual("sparsecollResidualWrite", residual, [&](Residual& r) {
    check_array("src", src, r.count(), r.value_size());
    check_on_host("src", src);
    r.write({static_cast<const std::byte*>(src) + r.held().begin * r.value_size(), r.bytes()});
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
    with_kernels(r, [&](Kernels& kernels) { r.scale(kernels, factor); });
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualPointer(sparsecollResidual_t residual, void** pointer) {
  return on_residual("sparsecollResidualPointer", residual, [&](Residual& r) {
    if (!pointer) fail(sparsecollInvalidArgument, "pointer: expected a pointer, got NULL");
    if (r.sharded())
      fail(sparsecollInvalidArgument, "residual: expected one of all ", r.count(),
           " values, got one of sparsecollAlgoSharded, which holds those from ", r.held().begin,
           " to ", r.held().end);
    with_kernels(r, [&](Kernels&) { *pointer = r.current(); });
    return sparsecollSuccess;
  });
}
