// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// pushSumStep: a step has the number of a call, but the ranks do not agree on it, since a rank
// receives messages from its neighbours only.
#include "api/operation.hpp"
#include "api/push_sum_state.hpp"

namespace sparsecoll {

namespace {

/// A step with its arguments, which may run later and on another thread.
class Step {
 public:
  Step(std::shared_ptr<PushSumState> state, const Tensors& tensors, const ExecutionContext& context)
      : state_(std::move(state)), tensors_(tensors), context_(context) {}

  void run(Communicator& communicator) {
    // A custom graph may be malformed. A step that is not queued finds the error before it counts
    // as a call, so that the user can correct the graph.
    if (!communicator.queue()) find_neighbours(communicator, context_.captured());
    communicator.run_without_agreement(Verb::push_sum_step, [&](const CallParameters& parameters) {
      if (communicator.queue()) find_neighbours_of_queued(communicator);
      context_.begin(communicator);
      state_->step(context_, communicator, parameters, tensors_);
    });
  }

 private:
  void find_neighbours(const Communicator& communicator, bool captured) const {
    state_->push_sum().find_neighbours(communicator.rank(), captured);
  }

  /// Peers may already wait for a queued step, so that a malformed graph is a fatal error here.
  void find_neighbours_of_queued(const Communicator& communicator) const {
    try {
      find_neighbours(communicator, false);
    } catch (const Error& error) {
      throw Error(sparsecollInvalidUsage, error.what());
    }
  }

  std::shared_ptr<PushSumState> state_;
  Tensors tensors_;
  ExecutionContext context_;
};

/// Returns the state with this handle. Throws InvalidArgument unless it is one of this communicator
/// for tensors of this length and type.
std::shared_ptr<PushSumState> check_state(sparsecollPushSum_t handle, const Communicator& owner,
                                          size_t count, int datatype) {
  std::shared_ptr<PushSumState> state = push_sums().find(handle);
  if (!state)
    fail(sparsecollInvalidArgument,
         "state: expected a push-sum state, got a handle that is none or was destroyed");
  if (state->owner().get() != &owner)
    fail(sparsecollInvalidArgument, "state: expected one of this communicator, got another's");
  const PushSumShape& shape = state->shape();
  if (shape.count != count)
    fail(sparsecollInvalidArgument, "count: expected the state's, ", shape.count, ", got ", count);
  if (static_cast<int>(shape.type) != datatype)
    fail(sparsecollInvalidArgument, "datatype: expected the state's, ",
         static_cast<int>(shape.type), ", got ", datatype);
  return state;
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t pushSumStep(void* x, void* estimate, size_t count, sparsecollDataType_t datatype,
                               sparsecollPushSum_t state, sparsecollComm_t comm,
                               sparsecollStream_t stream) {
  return on_entered("pushSumStep", comm, [&](Communicator& communicator) {
    communicator.check_healthy();
    communicator.group().check_closed();
    const Tensors tensors{x, estimate};
    const auto found = check_state(state, communicator, count, datatype);
    check_tensors(found->shape(), tensors);
    ExecutionContext context;
    context.allow_capture();
    context.locate(communicator, buffers_of(tensors, stream));
    found->bind_to(context.device());
    if (communicator.queue()) context.mark(communicator, buffers_of(tensors, stream));
    Step step(found, tensors, context);
    communicator.begin_call([&] {
      if (communicator.queue())
        communicator.enqueue("pushSumStep",
                             [&communicator, step]() mutable { step.run(communicator); });
      else
        step.run(communicator);
    });
    return sparsecollSuccess;
  });
}
