// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "api/operation.hpp"

namespace sparsecoll {

Descriptor with_cache_hash(Descriptor shape, const ShapeCache& cache) {
  shape.argument[kCacheHash] = cache.hash();
  return shape;
}

void invoke(Operation& operation, const Invocation& invocation) {
  Residual* const residual = operation.residual_in_use();
  const auto add_to_residual = [&] {
    if (residual)
      residual->record_call(invocation.descriptor, invocation.communicator.running_call());
  };
  try {
    operation.run(invocation);
  } catch (const Error& error) {
    if (error.code() == sparsecollTruncated) add_to_residual();  // the verb is done
    throw;
  }
  add_to_residual();
}

void run(Communicator& communicator, Operation& operation) {
  const Descriptor arguments = operation.descriptor();
  const uint64_t shape = arguments.hash();
  ShapeCache cache = communicator.shape_caches().get(shape);
  const auto body = [&](AgreedCall& call) {
    invoke(operation, {communicator, call, arguments, shape, cache});
  };
  communicator.run_collective(
      with_cache_hash(arguments, cache), [&] { operation.check(communicator); }, body);
}

void run_and_wait(Communicator& communicator, Operation& operation) {
  if (!communicator.queue()) return run(communicator, operation);
  std::exception_ptr failure;
  const auto task = [&] {
    try {
      run(communicator, operation);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  communicator.enqueue(verb_name(operation.descriptor().verb), task);
  communicator.queue()->wait_idle();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sparsecoll
