// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "transport/forwarding_transport.hpp"

namespace sparsecoll::unit {

/// Wraps a transport and reports every message that this rank sends.
class RecordingTransport final : public ForwardingTransport {
 public:
  /// Called with each message before its last chunk is sent.
  using Sent = std::function<void(int peer, ConstBytes message)>;

  RecordingTransport(std::unique_ptr<Transport> below, std::vector<size_t>& sizes)
      : RecordingTransport(std::move(below),
                           [&sizes](int, ConstBytes message) { sizes.push_back(message.size()); }) {
  }
  RecordingTransport(std::unique_ptr<Transport> below, Sent sent)
      : ForwardingTransport(std::move(below)), sent_(std::move(sent)) {}

  void send(int peer, ConstBytes bytes) override {
    sent_(peer, bytes);
    ForwardingTransport::send(peer, bytes);
  }
  void open(int peer, const MessageLength& length) override {
    open_[peer].clear();
    sizes_[peer] = length.bytes;
    ForwardingTransport::open(peer, length);
  }
  void send_chunk(int peer, ConstBytes chunk) override {
    open_[peer].insert(open_[peer].end(), chunk.begin(), chunk.end());
    if (open_[peer].size() == sizes_[peer]) sent_(peer, open_[peer]);
    ForwardingTransport::send_chunk(peer, chunk);
  }
  void hand_over(int peer, Buffer message) override {
    sent_(peer, {message.data(), message.size()});
    ForwardingTransport::hand_over(peer, std::move(message));
  }

 private:
  Sent sent_;
  std::map<int, std::vector<std::byte>> open_;  ///< by peer
  std::map<int, size_t> sizes_;
};

}  // namespace sparsecoll::unit
