// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Push-sum: the step, which counts as a call but is agreed on with nobody.
#include "api/operation.hpp"
#include "api/push_sum.hpp"

namespace sparsecoll {

namespace {

class Step {
 public:
  Step(std::shared_ptr<PushSumState> state, const Tensors& tensors, const ExecutionContext& context)
      : state_(std::move(state)), tensors_(tensors), context_(context) {}

  void run(Communicator& communicator) {
    PushSum& push_sum = state_->push_sum();
    // A user's graph may be wrong. Where the caller is told at once, nothing has happened yet.
    if (!communicator.queue()) push_sum.look_ahead(communicator.rank(), context_.captured());
    communicator.unagreed(Verb::push_sum_step, [&](const CallParameters& terms) {
      if (communicator.queue()) look_ahead_late(communicator.rank());
      context_.begin(communicator);
      if (communicator.link().channel())
        push_sum.step(state_->call_at(context_, communicator, terms, nullptr), tensors_);
      else
        communicator.link().make_alone(terms, descriptor(), [&](StreamCall& call) {
          push_sum.step(state_->call_at(context_, communicator, terms, &call), tensors_);
        });
    });
  }

 private:
  /// What messages in stream order are stamped with.
  Descriptor descriptor() const {
    Descriptor all;
    all.verb = static_cast<uint64_t>(Verb::push_sum_step);
    all.argument[kState] = state_->shape().id;
    all.argument[kStep] = state_->push_sum().step();
    return all;
  }

  /// Peers may count on this step already, so that a wrong graph is a usage that cannot be undone.
  void look_ahead_late(int rank) const {
    try {
      state_->push_sum().look_ahead(rank, false);
    } catch (const Error& error) {
      throw Error(sparsecollInvalidUsage, error.what());
    }
  }

  std::shared_ptr<PushSumState> state_;
  Tensors tensors_;
  ExecutionContext context_;
};

/// The state behind a handle, of this communicator and for this tensor.
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
    communicator.refuse_in_group();
    const Tensors tensors{x, estimate};
    const auto found = check_state(state, communicator, count, datatype);
    check_tensors(found->shape(), tensors);
    ExecutionContext context;
    context.allow_capture();
    context.locate(communicator, buffers_of(tensors, stream));
    found->claim(context.device());
    if (communicator.queue()) context.mark(communicator, buffers_of(tensors, stream));
    Step step(found, tensors, context);
    communicator.take_part([&] {
      if (communicator.queue())
        communicator.enqueue("pushSumStep",
                             [&communicator, step]() mutable { step.run(communicator); });
      else
        step.run(communicator);
    });
    return sparsecollSuccess;
  });
}
