// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/push_sum_config.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "collectives/push_sum/gossip.hpp"
#include "core/error.hpp"

namespace sparsecoll {

namespace {

constexpr sparsecollPushSumConfig_t kDefaults = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;

void check_values(const sparsecollPushSumConfig_t& c) {
  const auto check = [](const char* field, bool good, const char* expected, const auto& got) {
    if (!good)
      fail(sparsecollInvalidArgument, "config.", field, ": expected ", expected, ", got ", got);
  };
  check("graph", c.graph >= sparsecollGraphExponential && c.graph <= sparsecollGraphCustom,
        "a sparsecollGraphKind_t, 0 to 4", c.graph);
  check("peers", c.peers >= 1, "1 or more", c.peers);
  check("peers", c.peers == 1 || c.graph == sparsecollGraphNPeerExponential,
        "1 with every graph but sparsecollGraphNPeerExponential", c.peers);
  check("maxDelay", c.maxDelay >= kNeverWaits, "-1 or more", c.maxDelay);
  check("mixing", c.k == 0 || (c.mixing > 0 && c.mixing <= 1),
        "more than 0 and at most 1 where k > 0", c.mixing);
  const bool custom = c.graph == sparsecollGraphCustom;
  check("outNeighbours", custom == (c.outNeighbours != nullptr),
        custom ? "a function with sparsecollGraphCustom" : "NULL without sparsecollGraphCustom",
        c.outNeighbours ? "one" : "NULL");
}

}  // namespace

sparsecollPushSumConfig_t default_push_sum_config() { return kDefaults; }

sparsecollPushSumConfig_t make_push_sum_config(const sparsecollPushSumConfig_t* config) {
  sparsecollPushSumConfig_t result = kDefaults;
  if (config) {
    if (config->size < offsetof(sparsecollPushSumConfig_t, graph) ||
        config->magic != kDefaults.magic || config->version == 0)
      fail(sparsecollInvalidArgument,
           "config: expected a struct that starts from SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER, got "
           "size ",
           config->size, ", magic ", config->magic, ", version ", config->version);
    std::memcpy(&result, config, std::min(config->size, sizeof result));
    result.size = sizeof result;
    result.version = kDefaults.version;
  }
  check_values(result);
  if (result.k == 0) result.mixing = kDefaults.mixing;  // has no meaning without compression
  return result;
}

Descriptor PushSumIdentity::descriptor(Verb verb) const {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(verb);
  const auto set = [&](size_t argument, int value) {
    descriptor.argument[argument] = word_of(value);
  };
  descriptor.argument[kCount] = count;
  descriptor.argument[kK] = config.k;
  set(kDataType, datatype);
  set(kGraph, config.graph);
  set(kPeers, config.peers);
  set(kMaxDelay, config.maxDelay);
  descriptor.argument[kMixing] = std::bit_cast<uint64_t>(config.mixing);
  descriptor.argument[kState] = state;
  descriptor.argument[kStep] = step;
  return descriptor;
}

}  // namespace sparsecoll
