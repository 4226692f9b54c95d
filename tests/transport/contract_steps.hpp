// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps that the cases of the contract are made of.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/contract.hpp"

namespace sparsecoll::contract {

using Payload = std::vector<std::byte>;

std::vector<Case> message_cases();
std::vector<Case> chunk_cases();
std::vector<Case> leaving_cases();
std::vector<Case> split_cases();
std::vector<Case> recovery_cases();

/// Throws an exception with that text unless `good`.
void expect(bool good, const std::string& text);
/// Throws unless the message has that sender and those bytes.
void expect_message(const ReceivedMessage& message, int peer, const Payload& bytes);

/// Returns the next message. Throws if none is received in 20 seconds.
ReceivedMessage receive(Transport& transport);
/// Waits until unsent() and unsent_handed_over() are 0. Receivers poll meanwhile.
void flush(Transport& transport);
/// Returns a buffer of the transport's pool with a copy of the bytes.
Buffer in_pool(Transport& transport, const Payload& bytes);

/// How all ranks send test messages to all, themselves included.
struct Traffic {
  uint64_t count;  ///< messages from each rank to each rank
  uint64_t burst;  ///< messages that each rank sends before it polls again
  std::function<size_t(uint64_t number)> size;
};
/// Sends messages to all ranks and receives theirs, each sender's in order. Collective.
void all_to_all(Transport& transport, const Traffic& traffic);

}  // namespace sparsecoll::contract
