// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>

#include <algorithm>

#include "core/hardware.hpp"

namespace sparsecoll {

namespace {

/// A bitmap of hwloc.
class Bitmap {
 public:
  Bitmap() : bits_(hwloc_bitmap_alloc()) {}
  template <class Number>
  explicit Bitmap(std::span<const Number> members) : Bitmap() {
    for (const Number member : members) hwloc_bitmap_set(bits_, static_cast<unsigned>(member));
  }
  ~Bitmap() { hwloc_bitmap_free(bits_); }
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;

  operator hwloc_bitmap_t() const { return bits_; }

 private:
  hwloc_bitmap_t bits_;  // null without memory: hwloc then takes it for an empty set, or fails
};

/// Calls visit(object) for all objects of a type that have one of these CPUs, in hwloc's order.
template <class Visit>
void for_objects(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t cpus,
                 Visit visit) {
  for (hwloc_obj_t each = nullptr;
       (each = hwloc_get_next_obj_by_type(topology, type, each)) != nullptr;)
    if (each->cpuset && hwloc_bitmap_intersects(each->cpuset, cpus)) visit(each);
}

/// Returns the index of the only object of a type that has one of these CPUs; -1 if there are
/// several or none.
int only_index(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t cpus) {
  int found = 0, index = -1;
  for_objects(topology, type, cpus, [&](hwloc_obj_t each) {
    ++found;
    index = static_cast<int>(each->logical_index);
  });
  return found == 1 ? index : -1;
}

}  // namespace

struct Hardware::Topology {
  ~Topology() {
    if (hwloc) hwloc_topology_destroy(hwloc);
  }
  hwloc_topology_t hwloc = nullptr;
};

Hardware::Hardware(std::unique_ptr<Topology> topology) : topology_(std::move(topology)) {}
Hardware::~Hardware() = default;

std::unique_ptr<const Hardware> Hardware::load(const std::string& file, bool with_devices) {
  auto topology = std::make_unique<Topology>();
  if (hwloc_topology_init(&topology->hwloc) != 0) {
    topology->hwloc = nullptr;
    return nullptr;
  }
  if (!file.empty() && hwloc_topology_set_xml(topology->hwloc, file.c_str()) != 0) return nullptr;
  if (with_devices && hwloc_topology_set_type_filter(topology->hwloc, HWLOC_OBJ_PCI_DEVICE,
                                                     HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0)
    return nullptr;
  if (hwloc_topology_load(topology->hwloc) != 0) return nullptr;
  return std::unique_ptr<const Hardware>(new Hardware(std::move(topology)));
}

std::unique_ptr<const Hardware> Hardware::here() { return load("", false); }
std::unique_ptr<const Hardware> Hardware::here_with_devices() { return load("", true); }
std::unique_ptr<const Hardware> Hardware::from_xml(const std::string& file) {
  return load(file, true);
}

Cpus Hardware::cpus() const {
  Cpus found;
  const Bitmap allowed;
  hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology_->hwloc));
  for_objects(topology_->hwloc, HWLOC_OBJ_PU, allowed,
              [&](hwloc_obj_t each) { found.push_back(each->os_index); });
  std::ranges::sort(found);
  return found;
}

Place Hardware::place_of(std::span<const size_t> cpus) const {
  const Bitmap set(cpus);
  Place place;
  place.package = only_index(topology_->hwloc, HWLOC_OBJ_PACKAGE, set);
  place.l3 = only_index(topology_->hwloc, HWLOC_OBJ_L3CACHE, set);
  const std::vector<int> nodes = numa_nodes_of(cpus);
  if (nodes.size() == 1) place.numa_node = nodes.front();
  int cores = 0;
  for_objects(topology_->hwloc, HWLOC_OBJ_CORE, set, [&](hwloc_obj_t) { ++cores; });
  if (cores > 0) place.cores = cores;
  return place;
}

Cpus Hardware::by_closeness(std::span<const size_t> cpus) const {
  const Bitmap set(cpus);
  Cpus ordered;
  for_objects(topology_->hwloc, HWLOC_OBJ_PU, set,
              [&](hwloc_obj_t each) { ordered.push_back(each->os_index); });
  for (const size_t cpu : cpus)  // the CPUs that hwloc does not know
    if (std::ranges::find(ordered, cpu) == ordered.end()) ordered.push_back(cpu);
  return ordered;
}

Cpus Hardware::one_per_core_first(std::span<const size_t> cpus) const {
  Cpus first, others;
  std::vector<hwloc_obj_t> cores;
  for (const size_t cpu : cpus) {
    const hwloc_obj_t pu =
        hwloc_get_pu_obj_by_os_index(topology_->hwloc, static_cast<unsigned>(cpu));
    const hwloc_obj_t core =
        pu ? hwloc_get_ancestor_obj_by_type(topology_->hwloc, HWLOC_OBJ_CORE, pu) : nullptr;
    const bool known = core && std::ranges::find(cores, core) != cores.end();
    (known ? others : first).push_back(cpu);
    if (core && !known) cores.push_back(core);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

size_t Hardware::cache_bytes(std::span<const size_t> cpus) const {
  size_t total = 0;
  for (const size_t cpu : cpus) {
    size_t part = 0;
    for (hwloc_obj_t each =
             hwloc_get_pu_obj_by_os_index(topology_->hwloc, static_cast<unsigned>(cpu));
         each; each = each->parent)
      if (hwloc_obj_type_is_dcache(each->type))
        part = each->attr->cache.size / static_cast<size_t>(hwloc_bitmap_weight(each->cpuset));
    total += part;
  }
  return total;
}

std::vector<int> Hardware::numa_nodes() const { return numa_nodes_of(cpus()); }

std::vector<int> Hardware::numa_nodes_of(std::span<const size_t> cpus) const {
  const Bitmap set(cpus);
  std::vector<int> nodes;
  for_objects(topology_->hwloc, HWLOC_OBJ_NUMANODE, set,
              [&](hwloc_obj_t each) { nodes.push_back(static_cast<int>(each->os_index)); });
  return nodes;
}

Cpus Hardware::cpus_near(std::span<const int> numa_nodes, std::span<const size_t> cpus) const {
  Cpus near;
  for (const size_t cpu : cpus) {
    const std::vector<int> local = numa_nodes_of({&cpu, 1});
    const bool is_near = std::ranges::any_of(
        local, [&](int node) { return std::ranges::find(numa_nodes, node) != numa_nodes.end(); });
    if (is_near) near.push_back(cpu);
  }
  return near;
}

std::optional<int> Hardware::numa_node_of_device(const std::string& pci_address) const {
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology_->hwloc, pci_address.c_str());
  if (!device) return std::nullopt;
  const hwloc_obj_t beside = hwloc_get_non_io_ancestor_obj(topology_->hwloc, device);
  if (!beside || !beside->nodeset || hwloc_bitmap_weight(beside->nodeset) != 1) return std::nullopt;
  return hwloc_bitmap_first(beside->nodeset);
}

bool Hardware::place_pages(void* at, size_t bytes, std::span<const int> numa_nodes) const {
  const Bitmap nodes(numa_nodes);
  const auto policy = numa_nodes.size() == 1 ? HWLOC_MEMBIND_BIND : HWLOC_MEMBIND_INTERLEAVE;
  return hwloc_set_area_membind(topology_->hwloc, at, bytes, nodes, policy,
                                HWLOC_MEMBIND_BYNODESET) == 0;
}

namespace {

/// Binds the memory that the calling thread touches first, and restores its binding at the end.
class MemoryBinding {
 public:
  MemoryBinding(hwloc_topology_t topology, int numa_node) : topology_(topology) {
    known_ = hwloc_get_membind(topology, nodes_before_, &policy_before_, kFlags) == 0;
    const Bitmap node(std::span<const int>(&numa_node, 1));
    if (known_) hwloc_set_membind(topology, node, HWLOC_MEMBIND_BIND, kFlags);
  }
  ~MemoryBinding() {
    if (known_) hwloc_set_membind(topology_, nodes_before_, policy_before_, kFlags);
  }
  MemoryBinding(const MemoryBinding&) = delete;
  MemoryBinding& operator=(const MemoryBinding&) = delete;

 private:
  static constexpr int kFlags = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;
  hwloc_topology_t topology_;
  const Bitmap nodes_before_;
  hwloc_membind_policy_t policy_before_ = HWLOC_MEMBIND_DEFAULT;
  bool known_ = false;
};

}  // namespace

void Hardware::run_near(int numa_node, FunctionRef<void()> body) const {
  const MemoryBinding binding(topology_->hwloc, numa_node);
  body();
}

}  // namespace sparsecoll
