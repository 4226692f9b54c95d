// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Push-sum: Stochastic Gradient Push and Overlap SGP (Assran, Loizou, Ballas, Rabbat, Stochastic
// Gradient Push for Distributed Deep Learning, ICML 2019). Rank i has the numerator x and the
// weight w, which is 1 at first. Step t:
//
//   1. The graph gives the out-neighbours j with their shares p_ji, and the in-neighbours.
//   2. Send p_ji (x, w) to each out-neighbour j.
//   3. Receive. Wait for the messages of step t - tau (tau = 0: of this step; tau = -1: for none).
//   4. x := x - what was sent + what was received, in the order of steps, then of ranks. w changes
//      in the same way.
//   5. estimate := x / w (z in the paper).
//
// Two classes send and receive the messages:
//   framed_push_sum.cpp   over MPI or threads. A message may arrive at any time and waits at the
//                         receiver. A step adds all messages that have arrived.
//   stream_push_sum.cpp   over NCCL, in the order of CUDA streams. A step adds exactly the messages
//                         of step t - tau, so that the host need not know what has arrived.
//
// Cost per step: one message to each out-neighbour, one from each in-neighbour. A message has n
// values, or k entries with compressed gossip (compressed_gossip.cpp). There is no round of
// agreement.
//
// Guarantees: the sum of x and the sum of w over all ranks and all messages in flight stay the
// same, up to the rounding of step 4, for every graph, P and tau. With tau = 0 every run gives the
// same bits. x is written only after every message that the step waits for has arrived.
#include "collectives/push_sum/push_sum.hpp"

namespace sparsecoll {

PushSum::PushSum(const PushSumShape& shape, const Graph& graph) : shape_(shape), graph_(graph) {
  if (shape.k > 0) compressed_.emplace(shape);
}

void PushSum::Round::step() {
  // 2. Send; find_neighbours() was step 1.
  state_.sent_ = state_.graph_.ranks() > 1;
  for (const Neighbour& to : state_.destinations_) send(to);
  // 3. Receive.
  receive();
  // 4. and 5. Update x and w, compute the estimate.
  add_received();
  finish_step();
  ++state_.step_;
}

void PushSum::Round::drain() {
  // 3. to 5. for all messages in flight.
  receive_all();
  add_received();
  finish_drain();
  state_.sent_ = false;
}

void PushSum::Round::apply_update() {
  kernels().push_sum_update(
      {update_.shares, update_.received, update_.net, update_.weight, update_.device_weight},
      state_.shape_.count, tensors_.x, tensors_.estimate);
}

}  // namespace sparsecoll
