# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""What DDPHook keeps: overflows, gradients of 16 bits, checkpoints. Runs like torch_ddp.py."""

import io
import shutil
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sparsecoll as sc
import sparsecoll.torch as st
from ddp_model import DENSE_BELOW, batch, make
from torch_support import only, raises, run, same_everywhere


class Scaler:
    """What the hook needs of a GradScaler, which works on GPUs only in torch 1."""

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
        # Over NCCL the library keeps values that are not finite, and the hook asks all ranks first.
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


CASES = [an_overflow_leaves_no_trace, a_grad_scaler_skips_and_rescales, gradients_of_16_bits,
         a_saved_state_goes_on, a_distributed_checkpoint_has_the_states]

if __name__ == "__main__":
    run(only(sys.argv[1:], CASES))
