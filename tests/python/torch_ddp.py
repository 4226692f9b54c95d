# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""DDPHook on several ranks: python3 -m sparsecoll.torch.launch -n 3 torch_ddp.py [CASE...]"""

import os
import sys

import numpy as np
import torch
import torch.distributed as dist

import sparsecoll as sc
import sparsecoll.torch as st
from ddp_model import DENSE_BELOW, DENSITY, Net, batch, make
from sparsecoll._library import has
from support import allreduce_oracle
from torch_support import all_ranks, only, raises, run, same_everywhere


def local_gradients(model, loss):
    """Returns this rank's own gradients by name; zeros for unused parameters."""
    names, parameters = zip(*model.named_parameters())
    grads = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {n: (torch.zeros_like(p) if g is None else g).numpy().reshape(-1).copy()
            for n, p, g in zip(names, parameters, grads)}


class Oracle:
    """The definition, parameter by parameter, with a residual for each rank."""

    def __init__(self):
        self.residuals = {}

    def step(self, gradients, density=DENSITY):
        means = {}
        for name, own in gradients.items():
            grads = all_ranks(own)
            residuals = self.residuals.get(name, [np.zeros_like(own)] * len(grads))
            whole = density >= 1 or own.size < DENSE_BELOW
            k = own.size if whole else int(np.ceil(own.size * density))
            total, self.residuals[name] = allreduce_oracle(
                [g + r for g, r in zip(grads, residuals)], k)
            means[name] = total / np.float32(len(grads))
        return means


def compare(model, means):
    for name, parameter in model.named_parameters():
        if name in means:
            np.testing.assert_array_equal(parameter.grad.numpy().reshape(-1), means[name], name)


def gradients_are_those_of_the_definition():
    model, ddp, hook = make(dense_steps=1, warmup=2)
    oracle = Oracle()
    densities = [1.0, 0.25, 0.25 * (DENSITY / 0.25) ** 0.5, DENSITY, DENSITY]
    for step, density in enumerate(densities):
        assert abs(hook.current_density() - density) < 1e-12
        rare = step % 2 == 1 and dist.get_rank() == 0  # unused on some ranks, or on all
        means = oracle.step(local_gradients(model, model(batch(step), rare).square().sum()), density)
        model.zero_grad()
        ddp(batch(step), rare).square().sum().backward()
        if step % 2 == 0:
            for name in ("rare.weight", "rare.bias"):
                means.pop(name)  # DDP leaves gradients that no rank has
        compare(model, means)
    stats = hook.stats()
    assert stats.steps == len(densities) and stats.bytes_sent > 0 and stats.seconds > 0
    assert stats.dense_bytes == len(densities) * 4 * sum(p.numel() for p in model.parameters())
    assert stats.ratio == stats.dense_bytes / stats.bytes_sent and stats.skipped == 0
    hook.destroy()


def a_parameter_has_one_plan():
    model, ddp, hook = make(unused=False)
    oracle, plans = Oracle(), []
    for step in range(4):  # after the first one DDP divides the gradients anew
        means = oracle.step(local_gradients(model, model(batch(step), True).square().sum()))
        model.zero_grad()
        ddp(batch(step), True).square().sum().backward()
        compare(model, means)
        planned = [number for key in hook._plans for number in key[1:]]
        assert sorted(planned) == sorted(map(id, model.parameters()))
        plans.append(list(hook._plans.values()))
    assert all(one is other for one, other in zip(plans[2], plans[3])), "not kept"
    hook.destroy()


def a_bucket_is_one_group_that_notifies():
    model, ddp, hook = make(unused=False)
    order, notified, plan, notify = [], [], hook._plan, hook.comm.notify

    def planned(bucket, buffer):
        order.append(bucket.index())
        return plan(bucket, buffer)

    def noted(sequence, done):
        notified.append(sequence)
        notify(sequence, done)

    hook._plan, hook.comm.notify = planned, noted
    threads = 0
    for step in range(6):
        before = hook.comm.sequence
        order.clear()
        notified.clear()
        ddp(batch(step), True).square().sum().backward()
        if step >= 2:  # after DDP has divided the gradients anew
            buckets = len(order)
            assert buckets > 1 and order == list(range(buckets)), order
            assert hook.comm.sequence == before + buckets
            if has("sparsecollCommNotify"):
                assert notified == list(range(before + 1, before + buckets + 1))
            now = len(os.listdir("/proc/self/task"))
            assert threads in (0, now), "a thread for each call"
            threads = now
            same_everywhere(torch.tensor(order))
    hook.destroy()


def gradients_accumulate_without_sync():
    model, ddp, hook = make(unused=False)
    oracle = Oracle()
    for step in range(2):
        inputs = [batch(10 * step + i) for i in range(3)]
        own = [local_gradients(model, model(x, True).square().sum()) for x in inputs]
        total = {n: own[0][n] + own[1][n] + own[2][n] for n in own[0]}
        means = oracle.step(total)
        model.zero_grad()
        with ddp.no_sync():
            for x in inputs[:2]:
                ddp(x, True).square().sum().backward()
        ddp(inputs[2], True).square().sum().backward()
        compare(model, means)
    assert hook.step == 2
    hook.destroy()


def uneven_inputs_join():
    model, ddp, hook = make(unused=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with ddp.join():
        for step in range(2 + dist.get_rank()):
            optimizer.zero_grad()
            ddp(batch(step), True).square().sum().backward()
            optimizer.step()
    assert hook.step == 1 + dist.get_world_size()
    for parameter in model.parameters():
        same_everywhere(parameter)
    hook.destroy()


def corrections_are_the_optimizers():
    """With density 1 and the same data on all ranks a correction is the optimizer's own rule."""
    pairs = [(st.Momentum(0.9), 0.01, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
             (st.Adam(), 0.01, lambda p: torch.optim.Adam(p, lr=0.01))]
    for correction, rate, reference in pairs:
        model, ddp, hook = make(unused=False, correction=correction, density=1.0)
        torch.manual_seed(3)
        other = Net()
        optimizers = torch.optim.SGD(model.parameters(), lr=rate), reference(other.parameters())
        for step in range(5):
            for net, optimizer in zip((ddp, other), optimizers):
                optimizer.zero_grad()
                net(batch(step, rank=0), True).square().sum().backward()
                optimizer.step()
        for one, two in zip(model.parameters(), other.parameters()):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
        hook.destroy()


def sparse_training_converges():
    target = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    cases = [(None, 0.05, 0.9), (st.Momentum(0.9), 0.1, 0.0), (st.Adam(), 0.01, 0.0)]
    for correction, rate, momentum in cases:
        model, ddp, hook = make(unused=False, correction=correction, warmup=5)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
        losses = []
        for step in range(60):
            x = batch(step)
            loss = torch.nn.functional.cross_entropy(ddp(x, True), (x @ target).argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        first, last = (np.mean(all_ranks(part)) for part in (losses[:5], losses[-10:]))
        assert last < 0.6 * first, (correction, first, last)
        for parameter in model.parameters():
            same_everywhere(parameter)
        hook.destroy()


def wrong_uses():
    raises(ValueError, "a density of 0", lambda: st.DDPHook(density=0))
    raises(ValueError, "Adam has no scale", lambda: st.DDPHook(correction=st.Adam(), scaler=object()))
    alone, = sc.Communicator.init_all(1, config=sc.Config(blocking=False))
    raises(ValueError, "a communicator of 1 ranks", lambda: st.DDPHook(comm=alone))
    alone.destroy()


def an_error_reaches_backward():
    model, ddp, hook = make(unused=False)
    ddp(batch(0), True).square().sum().backward()
    hook.density = 0.1 if dist.get_rank() == 1 else DENSITY
    raises(RuntimeError, "INVALID_USAGE", lambda: ddp(batch(1), True).square().sum().backward())
    if has("sparsecollCommNotify"):
        raises(sc.InvalidUsage, "ranks disagree on", hook.comm.synchronize)
    hook.destroy()
    model, ddp, hook = make(unused=False)  # after an error torch 1.13 cannot use the old one
    hook.comm.abort()
    raises(RuntimeError, "INVALID_USAGE", lambda: ddp(batch(1), True).square().sum().backward())
    hook.destroy()


CASES = [gradients_are_those_of_the_definition, a_parameter_has_one_plan,
         a_bucket_is_one_group_that_notifies, gradients_accumulate_without_sync,
         uneven_inputs_join, corrections_are_the_optimizers, sparse_training_converges, wrong_uses,
         an_error_reaches_backward]

if __name__ == "__main__":
    run(only(sys.argv[1:], CASES))
