// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Files of residuals, and the same bytes in memory: the values, and the caches of the shapes of the
// calls that used them.
#include <cstring>

#include "api/arguments.hpp"
#include "api/bridge.hpp"
#include "core/state_file.hpp"

namespace sparsecoll {

namespace {

constexpr const char* kKind = "residual";
// Names the section with the caches of shapes. Part of the file format: files of earlier releases
// have it.
constexpr const char* kCaches = "warm";
// The region that a residual of Sharded holds. Other residuals have no such section.
constexpr const char* kShard = "shard";

/// The tensor of a residual.
struct Tensor {
  uint64_t count;
  uint64_t data_type;
  uint64_t rank;
  uint64_t ranks;
  uint64_t step;  ///< number of the last call that changed the residual
};

Tensor tensor_of(const Residual& residual, const Communicator& owner) {
  return {residual.count(), static_cast<uint64_t>(residual.data_type()),
          static_cast<uint64_t>(owner.rank()), static_cast<uint64_t>(owner.size()),
          residual.step()};
}

/// Returns the cache of each shape as {hash, number of words that follow, words ...}.
std::vector<uint64_t> cache_words(const Residual& residual, const Communicator& owner) {
  std::vector<uint64_t> all;
  for (const uint64_t shape : residual.shapes()) {
    const ShapeCache* cache = owner.shape_caches().find(shape);
    if (!cache) continue;
    const std::vector<uint64_t> words = cache->words();
    all.insert(all.end(), {shape, words.size()});
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

/// Returns whether these are valid bounds of regions of that length: of P regions, or of fewer if
/// nodes own them. No bounds are valid, too.
bool are_region_bounds(std::span<const uint64_t> cuts, uint64_t ranks, uint64_t count) {
  return cuts.empty() ||
         (cuts.size() > 1 && cuts.size() <= ranks + 1 && cuts.front() == 0 && cuts.back() == count);
}

/// `length`: length of the vector that the caches divide into regions.
std::vector<CachedShape> cached_shapes(const StateFile& file, const Tensor& tensor,
                                       uint64_t length) {
  constexpr size_t kWords = 64;  // the most words that a shape has besides its bounds
  const size_t most = Residual::kMostShapes * (kWords + tensor.ranks) * sizeof(uint64_t);
  if (file.size(kCaches) > most)
    file.refuse("bytes of thresholds and cuts, at most", most, file.size(kCaches));
  const Block bytes = file.section(kCaches);
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  std::vector<CachedShape> all;
  for (std::span<const uint64_t> rest = words; !rest.empty();) {
    const bool whole = rest.size() >= 2 && rest[1] <= rest.size() - 2;
    const auto cache = whole ? ShapeCache::from_words(rest.subspan(2, rest[1])) : std::nullopt;
    if (!cache || !are_region_bounds(cache->boundaries, tensor.ranks, length))
      file.refuse("thresholds and cuts in", "good order", "others");
    all.push_back({rest[0], *cache});
    rest = rest.subspan(2 + rest[1]);
  }
  return all;
}

/// Throws InvalidArgument if the file's residual holds other indices than this one.
void check_held(const StateFile& file, const Residual& residual) {
  const bool sharded = file.has(kShard);
  if (sharded != residual.sharded())
    file.refuse("a residual of", residual.sharded() ? "a shard" : "the whole tensor",
                sharded ? "one of a shard" : "one of the whole tensor");
  if (!sharded) return;
  const auto held = file.value<Region>(kShard);
  const auto words = [](const Region& each) { return text(each.begin, " to ", each.end); };
  if (held.begin != residual.held().begin || held.end != residual.held().end)
    file.refuse("the shard from", words(residual.held()), words(held));
}

void save(Residual& residual, const StateTarget& target) {
  const std::shared_ptr<Communicator> owner = residual.owner();
  const Arena::Scope scope(owner->backends().arena());
  std::byte* const values = owner->backends().arena().take<std::byte>(residual.bytes());
  const Tensor tensor = tensor_of(residual, *owner);
  const std::vector<uint64_t> words = cache_words(residual, *owner);
  const StateSection all[] = {state_value("tensor", tensor),
                              {"values", {values, residual.bytes()}},
                              {kCaches, std::as_bytes(std::span(words))},
                              state_value(kShard, residual.held())};
  const std::span sections = std::span(all).first(residual.sharded() ? 4 : 3);
  if (!target.wants(sections)) return;
  residual.read_canonical({values, residual.bytes()});
  target.write(kKind, sections);
}

/// `from`: a path, or the bytes of a file.
template <class Source>
void load(Residual& residual, const Source& from) {
  const std::shared_ptr<Communicator> owner = residual.owner();
  const StateFile file(from, kKind, *owner->backends().memory(kHost));
  const auto tensor = file.value<Tensor>("tensor");
  const Tensor want = tensor_of(residual, *owner);
  if (tensor.count != want.count) file.refuse("count", want.count, tensor.count);
  if (tensor.data_type != want.data_type) file.refuse("datatype", want.data_type, tensor.data_type);
  if (tensor.rank != want.rank) file.refuse("rank", want.rank, tensor.rank);
  if (tensor.ranks != want.ranks) file.refuse("a number of ranks of", want.ranks, tensor.ranks);
  check_held(file, residual);
  const Block values = file.sized("values", residual.bytes());
  const std::vector<CachedShape> all = cached_shapes(file, want, residual.held_count());
  std::vector<uint64_t> shapes;
  for (const CachedShape& each : all) shapes.push_back(each.shape);
  // The file is valid. If there is no memory for its caches, nothing is changed.
  owner->shape_caches().store(all);
  residual.write({values.data(), values.size()});
  residual.restore(std::move(shapes), tensor.step);
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollResidualSave(sparsecollResidual_t residual, const char* path) {
  return on_residual("sparsecollResidualSave", residual, [&](Residual& r) {
    check_path(path);
    save(r, StateTarget(path));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualSaveTo(sparsecollResidual_t residual, void* buffer,
                                            size_t* bytes) {
  return on_residual("sparsecollResidualSaveTo", residual, [&](Residual& r) {
    check_state_target(buffer, bytes);
    save(r, StateTarget(buffer, bytes));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualLoad(sparsecollResidual_t residual, const char* path) {
  return on_residual("sparsecollResidualLoad", residual, [&](Residual& r) {
    check_path(path);
    load(r, std::string(path));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollResidualLoadFrom(sparsecollResidual_t residual, const void* buffer,
                                              size_t bytes) {
  return on_residual("sparsecollResidualLoadFrom", residual, [&](Residual& r) {
    load(r, state_in_memory(buffer, bytes));
    return sparsecollSuccess;
  });
}
