// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/bounds.hpp"

#include "api/handles.hpp"
#include "collectives/building_blocks/regions.hpp"
#include "core/checksum.hpp"

namespace sparsecoll {

Bounds::Bounds(const size_t* bounds, sparsecollComm_t comm) noexcept : given_(bounds) {
  try {
    const std::shared_ptr<Communicator> communicator = communicators().find(comm);
    if (!communicator) return;  // the call is refused later
    ranks_ = static_cast<size_t>(communicator->size());
    readable_ = reinterpret_cast<uintptr_t>(bounds) % alignof(size_t) == 0;
    if (bounds && readable_) copy_.assign(bounds, bounds + size());
  } catch (const std::exception&) {
    out_of_memory_ = true;
  }
}

uint64_t Bounds::at(size_t r, uint64_t count) const {
  return copy_.empty() ? even_boundary(count, ranks_, r) : copy_[r];
}

void Bounds::check(uint64_t count) const {
  if (out_of_memory_) throw std::bad_alloc();
  if (!readable_)
    fail(sparsecollInvalidArgument, "bounds: expected an address aligned to ", alignof(size_t),
         " bytes, got ", static_cast<const void*>(given_));
  if (copy_.empty()) return;
  if (copy_.front() != 0)
    fail(sparsecollInvalidArgument, "bounds[0]: expected 0, got ", copy_.front());
  for (size_t r = 1; r < size(); ++r)
    if (copy_[r] < copy_[r - 1])
      fail(sparsecollInvalidArgument, "bounds[", r, "]: expected at least bounds[", r - 1,
           "] = ", copy_[r - 1], ", got ", copy_[r]);
  if (copy_.back() != count)
    fail(sparsecollInvalidArgument, "bounds[", ranks_, "]: expected count ", count, ", got ",
         copy_.back());
}

void Bounds::describe(uint64_t count, Descriptor& descriptor) const {
  uint64_t hash = ranks_;
  for (size_t r = 0; r < size(); ++r) {
    const uint64_t border = at(r, count);
    hash = mix(hash ^ border);
    if (r >= 1 && r <= kNamedBounds) descriptor.argument[kBounds + r - 1] = border;
  }
  descriptor.argument[kAllBounds] = hash;
}

std::span<const Region> Bounds::regions(uint64_t count, Env& env) const {
  return copy_.empty() ? uniform_regions(env, count) : regions_between(env, copy_);
}

}  // namespace sparsecoll
