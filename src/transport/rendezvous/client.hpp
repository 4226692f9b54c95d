// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deadline.hpp"
#include "core/error.hpp"
#include "transport/bootstrap.hpp"
#include "transport/rendezvous/protocol.hpp"

namespace sparsecoll::rendezvous {

/// The number with which a rank comes.
struct Place {
  int rank;
  int ranks;  ///< how many there are
};

/// One rank at the rendezvous of an id. The others come meanwhile: the first allgather waits for
/// all of them.
class Client final : public Bootstrap {
 public:
  Client(const UniqueId& id, const Place& place, const Deadline& deadline);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Throws InvalidUsage if the ranks do not belong together, Timeout if some did not come,
  /// RemoteError if one failed or left, and SystemError if the server cannot be reached.
  std::vector<std::byte> allgather(ConstBytes own) override;
  /// Tells the others that this rank fails.
  void give_up(const Error& error) noexcept;

 private:
  /// Connects and greets. Waits until the server listens, but not for long if it refuses.
  void connect();
  bool try_to_connect();
  void greet();
  void disconnect() noexcept;
  std::vector<std::byte> exchange(const Frame& own);
  /// Writes all bytes. Returns false if the connection has ended.
  bool write(ConstBytes bytes);
  /// Reads so many bytes. Returns false if the connection has ended.
  bool read(std::byte* to, size_t bytes);
  /// Waits until the socket is ready for these events of poll().
  void wait(short events);
  Clock::duration left() const;

  const UniqueId id_;
  const Place place_;
  const Deadline deadline_;
  int fd_ = -1;
  bool answered_ = false;  ///< the server has let this rank in
};

}  // namespace sparsecoll::rendezvous
