# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""DDPHook on several ranks: python3 -m sparsecoll.torch.launch -n 3 torch_ddp.py [CASE...]"""

import io
import os
import shutil
import sys
import tempfile
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sparsecoll as sc
import sparsecoll.torch as st
from sparsecoll._library import has
from support import allreduce_oracle
from torch_support import all_ranks, only, raises, run, same_everywhere

DENSITY, DENSE_BELOW = 0.05, 50


class Net(torch.nn.Module):
    """Two layers, and one that only some passes use."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(20, 40)
        self.second = torch.nn.Linear(40, 5)
        self.rare = torch.nn.Linear(20, 40)

    def forward(self, x, rare=False):
        hidden = self.first(x) + (self.rare(x) if rare else 0)
        return self.second(torch.tanh(hidden))


def make(**options):
    """Returns the model, its DDP and the hook."""
    unused = options.pop("unused", True)
    torch.manual_seed(3)
    model = Net()
    # The first bucket has a size of its own, in which this model fits.
    with mock.patch.object(dist, "_DEFAULT_FIRST_BUCKET_BYTES", 1000):
        ddp = DistributedDataParallel(model, find_unused_parameters=unused, bucket_cap_mb=0.002)
    options.setdefault("density", DENSITY)
    hook = st.DDPHook(dense_below=DENSE_BELOW, **options).register(ddp)
    return model, ddp, hook


def batch(step, rank=None):
    generator = torch.Generator().manual_seed(100 * step + (dist.get_rank() if rank is None else rank))
    return torch.randn(8, 20, generator=generator)


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


class Scaler:
    """What the hook needs of a GradScaler, which works on GPUs only in this torch."""

    def __init__(self):
        self.scale = 4.0

    def get_scale(self):
        return self.scale


def an_overflow_leaves_no_trace():
    scaler = Scaler()
    cases = [(asks_first, correction) for asks_first in (False, True)
             for correction in (None, st.Momentum(0.5))]
    for asks_first, correction in cases:
        scaler.scale = 4.0
        # As over NCCL the library keeps what is not finite, and the hook asks all ranks first.
        comm = st.communicator_of(config=sc.Config(
            blocking=False, dense_below=DENSE_BELOW, non_finite="keep")) if asks_first else None
        model, ddp, hook = make(scaler=scaler, unused=False, correction=correction, comm=comm)
        hook._asks_first = asks_first

        def step(number, bad=False):
            model.zero_grad()
            factor = float("inf") if bad and dist.get_rank() == 1 else scaler.scale
            (ddp(batch(number), True).square().sum() * factor).backward()
            return all(torch.isfinite(p.grad).all() for p in model.parameters())

        assert step(0)
        hook.comm.synchronize()
        before = {slot.name: slot.residual.read() for slot in hook._slots.values()}
        states = [{n: t.clone() for n, t in slot.state.items()} for slot in hook._slots.values()]
        assert not step(1, bad=True)  # on every rank
        assert hook.stats().skipped > 0 and hook.step == 2
        for slot in hook._slots.values():
            np.testing.assert_array_equal(slot.residual.read(), before[slot.name])
        if asks_first:
            for slot, state in zip(hook._slots.values(), states):
                assert all(torch.equal(slot.state[n], t) for n, t in state.items())
        scaler.scale = 2.0
        hook._begin_step()
        for slot in hook._slots.values():
            np.testing.assert_array_equal(slot.residual.read(), before[slot.name] / 2)
        hook._within_step = False
        assert step(2)
        hook.destroy()


def a_grad_scaler_skips_and_rescales():
    if torch.__version__.startswith("1."):
        return  # its GradScaler needs a GPU
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
    model, ddp, hook = make(scaler=scaler, unused=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    scales = []
    for step in range(6):
        optimizer.zero_grad()
        before = [p.detach().clone() for p in model.parameters()]
        factor = float("inf") if step == 2 and dist.get_rank() == 1 else 1.0
        scaler.scale(ddp(batch(step), True).square().sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        moved = [not torch.equal(p, old) for p, old in zip(model.parameters(), before)]
        assert all(moved) if step != 2 else not any(moved)
        for parameter in model.parameters():
            same_everywhere(parameter)
        scales.append(scaler.get_scale())
    assert scales == [4, 4, 2, 2, 2, 4] and hook._scale == 2
    hook.destroy()


class Product(torch.nn.Module):
    """A model that has all types on a CPU."""

    def __init__(self, dtype):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(200, dtype=dtype))

    def forward(self, x):
        return (self.weight * x).sum()


def gradients_of_16_bits():
    for dtype in (torch.float16, torch.bfloat16):
        if dtype == torch.bfloat16 and torch.__version__.startswith("1."):
            continue  # its gloo does not know the type
        model = Product(dtype)
        ddp = DistributedDataParallel(model)
        hook = st.DDPHook(density=0.1, dense_below=0, correction=st.Momentum(0.5)).register(ddp)
        x = torch.zeros(200, dtype=dtype)
        x[10 * dist.get_rank()] = 3
        ddp(x).backward()
        expected = torch.zeros(200, dtype=dtype)
        expected[[10 * rank for rank in range(dist.get_world_size())]] = 1
        assert torch.equal(model.weight.grad, expected), model.weight.grad
        hook.destroy()


def a_saved_state_goes_on():
    results = []
    kept = None
    for attempt in range(2):
        model, ddp, hook = make(unused=False, correction=st.Momentum(0.9), wire="bf16")
        for step in range(5):
            if step == 2 and attempt == 0:
                file = io.BytesIO()
                torch.save(hook.state_dict(), file)
                kept = file.getvalue()
            if step < 2 and attempt == 1:
                continue
            if step == 2 and attempt == 1:
                hook.load_state_dict(torch.load(io.BytesIO(kept)))
            model.zero_grad()
            ddp(batch(step), True).square().sum().backward()
        assert hook.step == 5
        results.append([p.grad.clone() for p in model.parameters()])
        raises(ValueError, "has no rank", lambda: hook.load_state_dict({"rank9": b""}))
        hook.destroy()
    for one, two in zip(*results):
        assert torch.equal(one, two)


def a_distributed_checkpoint_has_the_states():
    if torch.__version__.startswith("1."):
        return
    import torch.distributed.checkpoint as dcp
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    model, ddp, hook = make(unused=False)
    ddp(batch(0), True).square().sum().backward()
    dcp.save({"hook": hook.state_dict()}, checkpoint_id=folder[0])
    expected = {slot.name: slot.residual.read() for slot in hook._slots.values()}
    ddp(batch(1), True).square().sum().backward()
    state = {"hook": hook.state_dict()}
    dcp.load(state, checkpoint_id=folder[0])
    hook.load_state_dict(state["hook"])
    assert hook.step == 1
    for slot in hook._slots.values():
        np.testing.assert_array_equal(slot.residual.read(), expected[slot.name])
    hook.destroy()
    if dist.get_rank() == 0:
        shutil.rmtree(folder[0])


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
    raises(ValueError, "Adam has no scale", lambda: st.DDPHook(correction=st.Adam(), scaler=Scaler()))
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
         a_bucket_is_one_group_that_notifies,
         gradients_accumulate_without_sync, uneven_inputs_join, an_overflow_leaves_no_trace,
         a_grad_scaler_skips_and_rescales,
         gradients_of_16_bits, a_saved_state_goes_on,
         a_distributed_checkpoint_has_the_states,
         corrections_are_the_optimizers, sparse_training_converges, wrong_uses,
         an_error_reaches_backward]

if __name__ == "__main__":
    run(only(sys.argv[1:], CASES))
