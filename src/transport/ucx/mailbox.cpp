// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sparsecoll::ucx {

namespace {

/// The most messages that a sender can be ahead. A larger number means a damaged header.
constexpr uint64_t kMostAhead = uint64_t{1} << 24;

}  // namespace

Mailbox::Mailbox(uint64_t address, size_t ranks)
    : unsent_to(ranks),
      handed_over_to(ranks),
      address_(address),
      senders_(ranks),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd_ < 0) fail(sparsecollSystemError, "eventfd: ", std::strerror(errno));
}

Mailbox::~Mailbox() { close(wake_fd_); }

Mailbox::Incoming& Mailbox::message_of(const MessageHeader& header) {
  if (header.sender >= senders_.size())
    fail(sparsecollRemoteError, "received a message of rank ", header.sender, ", expected one of ",
         senders_.size(), " ranks");
  Sender& sender = senders_[header.sender];
  if (header.number < sender.next || header.number - sender.next > kMostAhead)
    fail(sparsecollRemoteError, "rank ", header.sender, " sent message ", header.number,
         ", expected ", sender.next, " or a later one");
  const size_t index = header.number - sender.next;
  if (index >= sender.messages.size()) sender.messages.resize(index + 1);
  return sender.messages[index];
}

void Mailbox::put(const MessageHeader& header, ConstBytes bytes) {
  Incoming& message = message_of(header);
  if (!message.begun) {
    message.bytes = pool_.take(header.bytes);
    message.size = header.bytes;
    if (!message.cancelled) message.expected = header.bytes;
    message.begun = true;
  }
  if (header.bytes != message.size || header.offset > message.size ||
      bytes.size() > message.size - header.offset)
    fail(sparsecollRemoteError, "rank ", header.sender, " sent ", bytes.size(), " bytes at ",
         header.offset, " of a message of ", header.bytes, " bytes, expected ", message.size);
  // Not std::ranges::copy: that of GCC 12 copies byte by byte.
  std::copy(bytes.begin(), bytes.end(), message.bytes.data() + header.offset);
  message.arrived += bytes.size();
  look_at(header.sender);
}

void Mailbox::cancel(const MessageHeader& header) {
  Incoming& message = message_of(header);
  message.cancelled = true;
  message.expected = header.offset;
  look_at(header.sender);
}

void Mailbox::look_at(uint32_t number) {
  Sender& sender = senders_[number];
  if (sender.listed || sender.messages.empty() || !sender.messages.front().is_ready()) return;
  ready_.push_back(number);
  sender.listed = true;
  notify();
}

std::optional<ReceivedMessage> Mailbox::take() {
  while (!ready_.empty()) {
    const uint32_t number = ready_.front();
    ready_.pop_front();
    Sender& sender = senders_[number];
    Incoming& message = sender.messages.front();
    const bool cancelled = message.cancelled;
    ReceivedMessage received{static_cast<int>(number), std::move(message.bytes)};
    sender.messages.pop_front();
    ++sender.next;
    sender.listed = !sender.messages.empty() && sender.messages.front().is_ready();
    if (sender.listed) ready_.push_back(number);
    if (!cancelled) return received;
  }
  return std::nullopt;
}

void Mailbox::fail_with(const Error& error) {
  if (!failure_) failure_ = error;
  notify();
}

void Mailbox::check() const {
  if (failure_) throw Error(*failure_);
}

void Mailbox::count(int peer, size_t bytes, bool handed_over) {
  (handed_over ? unsent_handed_over : unsent) += bytes;
  unsent_to[static_cast<size_t>(peer)] += bytes;
  if (handed_over) handed_over_to[static_cast<size_t>(peer)] += bytes;
}

void Mailbox::notify() {
  ++events_;
  if (sleeps) wake();
}

void Mailbox::wake() noexcept {
  const uint64_t one = 1;
  // The write fails only if the counter is full, and then the rank is awake anyway.
  static_cast<void>(!write(wake_fd_, &one, sizeof one));
}

void Mailbox::clear_wake() noexcept {
  uint64_t count = 0;
  static_cast<void>(!read(wake_fd_, &count, sizeof count));
}

}  // namespace sparsecoll::ucx
