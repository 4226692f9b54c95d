// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps that the cases of the contract are made of.

#include <string>
#include <vector>

#include "devices/device_array.hpp"
#include "transport/stream_contract.hpp"
#include "transport/thrown_error.hpp"

namespace sparsecoll::stream_contract {

using devices::DeviceArray;
using devices::OwnStream;
using Payload = std::vector<std::byte>;

std::vector<Case> exchange_cases();
std::vector<Case> order_cases();
std::vector<Case> ending_cases();
std::vector<Case> split_cases();
std::vector<Case> shrink_cases();
std::vector<Case> sum_cases();

/// Returns a deadline that passes only if a rank hangs.
Deadline no_deadline();
/// How long an operation that does not wait may take on a busy machine.
inline constexpr double kAtOnce = 1.0;
double seconds_since(Clock::time_point start);

/// Throws an exception with that text unless `good`.
void expect(bool good, const std::string& text);
/// Throws one that says "late" unless what took `seconds` took less than `most`. Who runs the case
/// then tries it again.
void expect_within(double most, double seconds, const std::string& what);
/// Throws unless the error has that code and `part` is in its message.
void expect_error(const unit::ThrownError& error, sparsecollResult_t code, const std::string& part);
/// Throws unless every function of the transport, except interrupt() and shrink(), throws
/// InvalidUsage.
void expect_ended(Rank& rank);

inline ConstBytes sent(const DeviceArray<std::byte>& array) { return {array.get(), array.size()}; }
inline Bytes received(const DeviceArray<std::byte>& array) { return {array.get(), array.size()}; }

/// Returns the message with that number that `from` sends to `to`.
Payload message(size_t size, int from, int to, int number = 0);

/// Messages around the ring of a transport's ranks: each rank sends to the next one and receives
/// from the previous one. With one rank it sends to itself.
class Ring {
 public:
  Ring(StreamTransport& transport, size_t bytes);

  /// Writes the message with that number, and waits for the stream.
  void put(int number, cudaStream_t stream) { out_.put(outgoing(number), stream); }
  /// Queues the exchange.
  void exchange(cudaStream_t stream, const Deadline& deadline = no_deadline());
  /// Queues a copy of the received message over the message to send.
  void forward(cudaStream_t stream);
  /// Queues the destruction of the received message.
  void wipe(cudaStream_t stream);
  /// Throws unless the message with that number was received. Waits for the stream.
  void expect_received(int number, cudaStream_t stream) const;
  /// Throws unless the message to send is the one with that number. Waits for the stream.
  void expect_to_send(int number, cudaStream_t stream) const;

 private:
  Payload outgoing(int number) const;

  StreamTransport& transport_;
  const int next_, previous_;
  DeviceArray<std::byte> out_, in_;
};

/// Sends one message with that number around the ring, and checks it. Collective.
void send_around(StreamTransport& transport, int number);

}  // namespace sparsecoll::stream_contract
