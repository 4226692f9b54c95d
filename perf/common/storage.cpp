// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/storage.hpp"

#include <cstring>

#include "common/machine.hpp"
#include "device/device.hpp"

namespace sparsecoll::perf {
namespace {

class HostStorage final : public Storage {
 public:
  int device() const override { return SPARSECOLL_DEVICE_HOST; }
  sparsecollStream_t stream() const override { return nullptr; }
  std::string gpu() const override { return ""; }

  void* allocate(std::size_t bytes) override { return new std::byte[bytes](); }
  void free(void* at) noexcept override { delete[] static_cast<std::byte*>(at); }
  void write(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  const void* read(const void* from, std::size_t, std::vector<std::byte>&) override { return from; }
  std::function<void()> capture(const std::function<void()>& work) override { return work; }
  void wait() override {}
};

}  // namespace

std::unique_ptr<Storage> make_storage(const Options& options, Ranks& ranks) {
  if (options.memory == "device") return make_device_storage(rank_on_host(ranks));
  if (options.memory == "copied") return make_copied_storage(rank_on_host(ranks));
  return std::make_unique<HostStorage>();
}

}  // namespace sparsecoll::perf
