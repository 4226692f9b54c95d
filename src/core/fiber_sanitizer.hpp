// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SPARSECOLL_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define SPARSECOLL_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARSECOLL_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define SPARSECOLL_THREAD_SANITIZER
#endif
#endif

#if defined(SPARSECOLL_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#elif defined(SPARSECOLL_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace sparsecoll {

/// Reports the switches between a fiber's stack and its owner's to a sanitizer, if there is one.
/// AddressSanitizer forgets the frames of a fiber that continues, so that it does not find every
/// fault there.
class FiberSanitizer {
 public:
#if defined(SPARSECOLL_ADDRESS_SANITIZER)
  void begin(const void* stack, size_t bytes) { own_ = {stack, bytes, nullptr}; }
  void end() {}
  // --- before a switch; after a switch, on the other stack
  void to_fiber() { __sanitizer_start_switch_fiber(&owner_.state, own_.stack, own_.bytes); }
  void on_fiber() { __sanitizer_finish_switch_fiber(own_.state, &owner_.stack, &owner_.bytes); }
  void to_owner(bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_.state, owner_.stack, owner_.bytes);
  }
  void on_owner() { __sanitizer_finish_switch_fiber(owner_.state, nullptr, nullptr); }

 private:
  struct Stack {
    const void* stack = nullptr;
    size_t bytes = 0;
    void* state = nullptr;
  };
  Stack own_, owner_;
#elif defined(SPARSECOLL_THREAD_SANITIZER)
  void begin(const void*, size_t) { own_ = __tsan_create_fiber(0); }
  void end() { __tsan_destroy_fiber(own_); }
  void to_fiber() {
    owner_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_, 0);
  }
  void on_fiber() {}
  void to_owner(bool) { __tsan_switch_to_fiber(owner_, 0); }
  void on_owner() {}

 private:
  void* own_ = nullptr;
  void* owner_ = nullptr;
#else
  void begin(const void*, size_t) {}
  void end() {}
  void to_fiber() {}
  void on_fiber() {}
  void to_owner(bool) {}
  void on_owner() {}
#endif
};

}  // namespace sparsecoll
