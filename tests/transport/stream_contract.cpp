// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_contract.hpp"

#include <stdexcept>

#include "core/error.hpp"
#include "transport/stream_contract_steps.hpp"
#include "transport/test_messages.hpp"

namespace sparsecoll::stream_contract {

using unit::error_of;

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& some : {exchange_cases(), order_cases(), ending_cases(), split_cases(),
                           shrink_cases(), sum_cases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string run(const Case& which, Rank& rank) {
  try {
    which.run(rank);
    if (!which.ends_transport) rank.transport().close(no_deadline());
    return "";
  } catch (const std::exception& error) {
    return text(which.name, ": ", error.what());
  }
}

Deadline no_deadline() { return Deadline::after(60000); }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void expect(bool good, const std::string& text) {
  if (!good) throw std::runtime_error(text);
}

void expect_within(double most, double seconds, const std::string& what) {
  expect(seconds < most, text("late: ", what, " after ", seconds, " s"));
}

void expect_error(const unit::ThrownError& error, sparsecollResult_t code,
                  const std::string& part) {
  const std::string wrong = unit::mismatch(error, code, part);
  expect(wrong.empty(), wrong);
}

void expect_ended(Rank& rank) {
  StreamTransport& transport = rank.transport();
  const OwnStream stream;
  const std::string& ended = rank.traits().messages.ended;
  const auto expect_usage = [&ended](const unit::ThrownError& error) {
    expect_error(error, sparsecollInvalidUsage, ended);
  };
  Ring ring(transport, 100);
  expect_usage(error_of([&] { transport.check(); }));
  expect_usage(error_of([&] { transport.exchange({}, stream, no_deadline()); }));
  expect_usage(error_of([&] { ring.exchange(stream); }));
  expect_usage(error_of([&] { transport.split(0, 0, no_deadline()); }));
  expect_usage(error_of([&] { transport.join(0, no_deadline()); }));
  expect_usage(error_of([&] { transport.close(no_deadline()); }));
}

Payload message(size_t size, int from, int to, int number) {
  return unit::test_message(size, from, static_cast<uint64_t>(number * 1000 + to));
}

Ring::Ring(StreamTransport& transport, size_t bytes)
    : transport_(transport),
      next_((transport.rank() + 1) % transport.size()),
      previous_((transport.rank() + transport.size() - 1) % transport.size()),
      out_(bytes),
      in_(bytes) {}

void Ring::exchange(cudaStream_t stream, const Deadline& deadline) {
  const StreamTransfer both[] = {{next_, sent(out_), {}, true, false},
                                 {previous_, {}, received(in_), false, true}};
  transport_.exchange(both, stream, deadline);
}

void Ring::forward(cudaStream_t stream) {
  devices::check(
      cudaMemcpyAsync(out_.get(), in_.get(), in_.size(), cudaMemcpyDeviceToDevice, stream));
}

void Ring::wipe(cudaStream_t stream) {
  devices::check(cudaMemsetAsync(in_.get(), 1, in_.size(), stream));
}

void Ring::expect_received(int number, cudaStream_t stream) const {
  expect(in_.read(stream) == message(in_.size(), previous_, transport_.rank(), number),
         text("rank ", transport_.rank(), " has not received message ", number, " of ", in_.size(),
              " bytes from rank ", previous_));
}

void Ring::expect_to_send(int number, cudaStream_t stream) const {
  expect(out_.read(stream) == outgoing(number), "another message is to be sent");
}

Payload Ring::outgoing(int number) const {
  return message(out_.size(), transport_.rank(), next_, number);
}

void send_around(StreamTransport& transport, int number) {
  const OwnStream stream;
  Ring ring(transport, 300);
  ring.put(number, stream);
  ring.exchange(stream);
  ring.expect_received(number, stream);
}

}  // namespace sparsecoll::stream_contract
