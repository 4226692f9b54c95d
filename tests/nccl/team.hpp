// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks as threads, each with a communicator as a caller has one, and a transport over it.

#include <nccl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "devices/device_array.hpp"
#include "nccl_stand_in.hpp"
#include "simt/engine.hpp"
#include "support/ranks.hpp"
#include "transport/stream_transport.hpp"

namespace sparsecoll::nccl_tests {

using devices::DeviceArray;
using devices::OwnStream;
using test::run_threads;
using Payload = std::vector<std::byte>;

inline constexpr int kPatience = 60000;  // milliseconds: never passes
inline Deadline patience() { return Deadline::after(kPatience); }
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline void must(ncclResult_t result) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw std::runtime_error(ncclGetErrorString(result));
}

/// What a caller has. Ranks are on the devices in turn.
class Callers {
 public:
  explicit Callers(int P, bool blocking = true) : comms_(static_cast<size_t>(P)) {
    ncclUniqueId id{};
    must(ncclGetUniqueId(&id));
    const std::string verdict = run_threads("callers", P, [&](int r) {
      devices::check(cudaSetDevice(device(r)));
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = blocking ? 1 : 0;
      must(ncclCommInitRankConfig(&comms_[static_cast<size_t>(r)], P, id, r, &config));
      return std::string();
    });
    if (!verdict.empty()) throw std::runtime_error(verdict);
  }
  ~Callers() {
    for (const ncclComm_t comm : comms_) ncclCommAbort(comm);
  }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  static int device(int rank) { return rank % simt::kDevices; }
  int size() const { return static_cast<int>(comms_.size()); }
  ncclComm_t operator[](int rank) const { return comms_[static_cast<size_t>(rank)]; }

 private:
  std::vector<ncclComm_t> comms_;
};

using Transports = std::vector<std::unique_ptr<StreamTransport>>;

/// A transport for every rank.
inline Transports make_transports(const Callers& callers) {
  Transports transports(static_cast<size_t>(callers.size()));
  const std::string verdict = run_threads("transports", callers.size(), [&](int r) {
    devices::check(cudaSetDevice(callers.device(r)));
    transports[static_cast<size_t>(r)] = make_nccl_transport(callers[r], patience());
    return std::string();
  });
  if (!verdict.empty()) throw std::runtime_error(verdict);
  return transports;
}

/// Runs body(transport) for every rank, on a thread whose current device is the rank's.
template <class Body>
std::string on_ranks(const std::string& what, const Transports& transports, Body body) {
  return run_threads(what, static_cast<int>(transports.size()), [&](int r) {
    StreamTransport& transport = *transports[static_cast<size_t>(r)];
    devices::check(cudaSetDevice(transport.device()));
    return body(transport);
  });
}

/// All of them at once.
inline std::string close_all(const Transports& transports) {
  return on_ranks("close", transports, [](StreamTransport& transport) {
    transport.close(patience());
    return std::string();
  });
}

/// What `from` sends to `to` as its message of that number.
inline Payload letter(size_t size, int from, int to, int number = 0) {
  Payload bytes(size);
  unsigned state = static_cast<unsigned>(from * 1009 + to * 31 + number * 7 + 1);
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline ConstBytes sent(const DeviceArray<std::byte>& array) { return {array.get(), array.size()}; }
inline Bytes filled(const DeviceArray<std::byte>& array) { return {array.get(), array.size()}; }

/// The code that was thrown, and its text; success and "".
struct Thrown {
  sparsecollResult_t code = sparsecollSuccess;
  std::string text;
};

template <class Function>
Thrown thrown(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// "" when it is that code, with a text that has that part in it.
inline std::string expect(const Thrown& thrown, sparsecollResult_t code, const std::string& part) {
  if (thrown.code == code && thrown.text.find(part) != std::string::npos) return "";
  return text("expected ", code, " with '", part, "', got ", thrown.code, " ", thrown.text);
}

}  // namespace sparsecoll::nccl_tests
