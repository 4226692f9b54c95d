// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of what is known of a machine, and of the CPUs that threads get, on the machines of
// machines/.

#include "core/hardware.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "core/numa_memory.hpp"
#include "core/thread_placement.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

std::unique_ptr<const Hardware> machine(const std::string& name) {
  auto found = Hardware::from_xml(std::string(SPARSECOLL_MACHINES) + "/" + name + ".xml");
  REQUIRE(found);
  return found;
}

/// Returns the CPUs from `first` to `last`, each `step`-th.
Cpus range(size_t first, size_t last, size_t step = 1) {
  Cpus cpus;
  for (size_t cpu = first; cpu <= last; cpu += step) cpus.push_back(cpu);
  return cpus;
}

TEST_CASE("a rank's place on two sockets") {
  const auto m = machine("two_sockets");
  CHECK(m->cpus() == range(0, 31));
  CHECK(m->place_of(range(0, 31)) == Place{-1, -1, -1, 16});
  CHECK(m->place_of(range(0, 30, 2)) == Place{0, 0, 0, 8});
  CHECK(m->place_of(range(1, 31, 2)) == Place{1, 1, 1, 8});
  CHECK(m->place_of(Cpus{3}) == Place{1, 1, 1, 1});
  CHECK(m->place_of(Cpus{3, 19}) == Place{1, 1, 1, 1});  // two threads of one core
  CHECK(m->place_of({}) == Place{});
  CHECK(m->numa_nodes_of(Cpus{0, 1}) == std::vector<int>{0, 1});
}

TEST_CASE("a rank's place among eight NUMA nodes") {
  const auto m = machine("eight_numa_nodes");
  CHECK(m->cpus() == range(0, 63));
  CHECK(m->place_of(range(8, 15)) == Place{0, 1, -1, 8});  // two caches
  CHECK(m->place_of(range(12, 15)) == Place{0, 1, 3, 4});
  CHECK(m->place_of(range(0, 15)) == Place{0, -1, -1, 16});
  CHECK(m->place_of(range(56, 63)) == Place{1, 7, -1, 8});
}

TEST_CASE("a machine of one core") {
  const auto m = machine("one_core");
  CHECK(m->cpus() == Cpus{0});
  CHECK(m->place_of(Cpus{0}) == Place{0, 0, -1, 1});  // it has no such cache
  for (const size_t index : {0, 1, 2}) CHECK(share_of(m.get(), Cpus{0}, {3, index}) == Cpus{0});
  CHECK(cpus_of_loop(m.get(), Cpus{0}, Cpus{0}, 0) == Cpus{0});
  CHECK(cpus_of_queue(m.get(), Cpus{0}, Cpus{0}, "") == Cpus{0});
  CHECK(nodes_of_memory(*m, Cpus{0}).empty());
}

TEST_CASE("a CPU has its part of the largest cache that it shares") {
  constexpr size_t kCache = size_t{16} << 20;
  CHECK(machine("two_sockets")->cache_bytes(range(0, 31)) == 2 * kCache);  // one on each
  CHECK(machine("two_sockets")->cache_bytes(Cpus{0, 18}) == kCache / 8);
  CHECK(machine("eight_numa_nodes")->cache_bytes(range(8, 15)) == 2 * kCache);
  CHECK(machine("eight_gpus")->cache_bytes(Cpus{5}) == kCache / 4);
  CHECK(machine("eight_gpus")->cache_bytes({}) == 0);
  CHECK(machine("one_core")->cache_bytes(Cpus{0, 7}) == 0);  // its description has no cache
}

TEST_CASE("the ranks that share CPUs share their caches") {
  const size_t all = ThreadPlacement{{1, 0}, true}.cache_bytes();
  CHECK(all > 0);
  for (const size_t ranks : {2, 7})
    CHECK(ThreadPlacement{{ranks, 1}, true}.cache_bytes() == all / ranks);
}

TEST_CASE("shares cover the CPUs once, and each stays in as few packages as possible") {
  const auto m = machine("two_sockets");
  for (const size_t ranks : {1, 2, 3, 4, 7, 16, 32}) {
    Cpus all;
    for (size_t index = 0; index < ranks; ++index) {
      const Cpus share = share_of(m.get(), m->cpus(), {ranks, index});
      if (ranks % 2 == 0) CHECK(m->place_of(share).package == (index < ranks / 2 ? 0 : 1));
      all.insert(all.end(), share.begin(), share.end());
    }
    std::ranges::sort(all);
    CHECK(all == range(0, 31));
  }
  // Whole cores: CPU 2 and CPU 18 are one.
  CHECK(share_of(m.get(), m->cpus(), {16, 1}) == Cpus{2, 18});
}

TEST_CASE("a share is one of the rank's own CPUs if there are more ranks than CPUs") {
  const auto m = machine("two_sockets");
  for (size_t index = 0; index < 5; ++index) {
    const Cpus share = share_of(m.get(), Cpus{4, 9}, {5, index});
    REQUIRE(share.size() == 1);
    CHECK((share[0] == 4 || share[0] == 9));
  }
  CHECK(share_of(m.get(), {}, {2, 1}).empty());
}

TEST_CASE("without hwloc a share is a range of the CPUs' numbers") {
  CHECK(share_of(nullptr, range(0, 7), {2, 1}) == range(4, 7));
  CHECK(cpus_of_queue(nullptr, range(0, 7), range(4, 7), "0000:18:00.0") == range(0, 7));
  CHECK(cpus_of_loop(nullptr, range(0, 3), range(0, 1), 1) == Cpus{1, 0, 2, 3});
}

TEST_CASE("CPUs that hwloc does not know are used all the same") {
  const auto m = machine("one_core");
  CHECK(m->by_closeness(Cpus{7, 0}) == Cpus{0, 7});
  CHECK(m->one_per_core_first(Cpus{7, 0}) == Cpus{7, 0});
}

TEST_CASE("the threads of a loop get a core each before a core gets two") {
  const auto m = machine("two_sockets");
  const Cpus share = share_of(m.get(), m->cpus(), {8, 0});
  CHECK(share == Cpus{0, 16, 2, 18});
  CHECK(cpus_of_loop(m.get(), share, share, 0) == Cpus{0, 2, 16, 18});
  // The caller runs on CPU 18, the second thread of a core: that core is the caller's.
  CHECK(cpus_of_loop(m.get(), share, share, 18) == Cpus{18, 0, 16, 2});
  // More threads than the share has CPUs use the rank's other CPUs.
  CHECK(cpus_of_loop(m.get(), range(0, 3), Cpus{2}, 0) == Cpus{2, 0, 1, 3});
}

TEST_CASE(
    "the thread of queued calls stays on the NUMA nodes of the share, and within the binding") {
  const auto m = machine("eight_numa_nodes");
  CHECK(cpus_of_queue(m.get(), range(0, 63), range(8, 11), "") == range(8, 15));
  CHECK(cpus_of_queue(m.get(), range(0, 13), range(8, 11), "") == range(8, 13));
  CHECK(cpus_of_queue(m.get(), range(0, 63), range(4, 11), "") == range(0, 15));
}

TEST_CASE("memory is on the NUMA nodes of the share, if there is a choice") {
  const auto m = machine("eight_numa_nodes");
  CHECK(nodes_of_memory(*m, range(8, 11)) == std::vector<int>{1});
  CHECK(nodes_of_memory(*m, range(4, 20)) == std::vector<int>{0, 1, 2});
  CHECK(nodes_of_memory(*machine("one_core"), Cpus{0}).empty());
}

TEST_CASE("the thread of queued calls is beside the GPU, if the rank has CPUs there") {
  const auto m = machine("eight_gpus");
  const Cpus all = range(0, 15);
  CHECK(cpus_of_queue(m.get(), all, range(0, 3), "0000:9a:00.0") == range(8, 15));
  CHECK(cpus_of_queue(m.get(), all, range(0, 3), "0000:18:00.0") == range(0, 7));
  CHECK(cpus_of_queue(m.get(), range(0, 5), range(0, 3), "0000:9a:00.0") == range(0, 5));
  CHECK(cpus_of_queue(m.get(), all, range(8, 9), "0000:00:00.0") == range(8, 15));
}

TEST_CASE("pages can be placed, or are where the system puts them") {
  const auto here = Hardware::here();
  REQUIRE(here);
  const std::vector<int> nodes = here->numa_nodes();
  REQUIRE(!nodes.empty());
  constexpr size_t kBytes = size_t{1} << 22;
  std::vector<int> values(kBytes / sizeof(int));
  here->place_pages(values.data(), kBytes, nodes);  // a container may refuse it
  std::iota(values.begin(), values.end(), 0);
  CHECK(values.back() == static_cast<int>(values.size()) - 1);
  bool ran = false;
  here->run_near(nodes.front(), [&] { ran = true; });
  CHECK(ran);
}

TEST_CASE("large blocks of a rank's memory can be written, and are counted like any other") {
  NumaMemory memory(ThreadPlacement{});
  for (const size_t bytes : {size_t{1}, NumaMemory::kLargeBlock - 1, 3 * NumaMemory::kLargeBlock}) {
    Block block(memory, bytes);
    CHECK(reinterpret_cast<uintptr_t>(block.data()) % kAlignment == 0);
    std::fill_n(block.data(), bytes, std::byte{7});
    CHECK(memory.bytes_in_use() == bytes);
  }
  CHECK(memory.bytes_in_use() == 0);
  bool ran = false;
  NodeBeside("0000:18:00.0").run([&] { ran = true; });
  NodeBeside("").run([&] { CHECK(ran); });
}

TEST_CASE("the NUMA node beside a GPU") {
  const auto m = machine("eight_gpus");
  for (const char* near_first : {"0000:18:00.0", "0000:2a:00.0", "0000:3a:00.0", "0000:5d:00.0"})
    CHECK(m->numa_node_of_device(near_first) == 0);
  for (const char* near_second : {"0000:9a:00.0", "0000:ab:00.0", "0000:BA:00.0", "db:00.0"})
    CHECK(m->numa_node_of_device(near_second) == 1);
  for (const char* none : {"0000:19:00.0", "", "gpu0"}) CHECK(!m->numa_node_of_device(none));
  CHECK(m->cpus_near(std::vector<int>{1}, range(4, 11)) == range(8, 11));
}

TEST_CASE("a file that is no machine is none") {
  CHECK(!Hardware::from_xml("/dev/null"));
  CHECK(!Hardware::from_xml(std::string(SPARSECOLL_MACHINES) + "/README.md"));
  CHECK(!Hardware::from_xml("no such file"));
}

TEST_CASE("this machine has the CPUs of this thread") {
  const auto here = Hardware::here();
  REQUIRE(here);
  const Cpus own = own_cpus(), all = here->cpus();
  CHECK(std::ranges::includes(all, own));
  CHECK(here->place_of(own).cores >= 1);
}

}  // namespace
}  // namespace sparsecoll::unit
