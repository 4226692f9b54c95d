// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace sparsecoll {

template <class Signature>
class FunctionRef;

/// A reference to a callable, for parameters that are called but not kept. Unlike std::function it
/// allocates nothing.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, FunctionRef>)
      FunctionRef(const Callable& callable)
      : callable_(std::addressof(callable)),
        call_([](const void* at, Arguments... arguments) -> Result {
          return (*static_cast<const Callable*>(at))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace sparsecoll
