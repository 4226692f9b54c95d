# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""A communication hook for DistributedDataParallel."""

# Annotations are not postponed in this file: DDP compares those of a hook with its classes.
import io
import math
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist

from sparsecoll import Communicator, Config, Residual, Result
from sparsecoll._buffers import current_stream, datatype_of
from sparsecoll._errors import error_of
from sparsecoll._library import has
from sparsecoll._types import RedOp
from sparsecoll.torch._communicators import Device, communicator_of, nccl_backend_of
from sparsecoll.torch._hook_state import HookStats, Plan, Slot, completed, finite_on_all_ranks


class DDPHook:
    """Replaces the allreduce of DistributedDataParallel by sparse_allreduce() with error feedback.

        hook = sparsecoll.torch.DDPHook(density=0.01)
        hook.register(ddp)  # or ddp.register_comm_hook(hook.state, hook)

    Each bucket is one group of calls, one for each parameter, on a queue beside the backward pass.
    Every parameter has a residual on every rank, and so has a rank that takes part in join().

    Args:
        density: the share of the entries of a gradient that each rank sends, and of the result.
        dense_below: gradients of fewer values are sent whole.
        dense_steps: the number of first steps, which send everything.
        warmup: the number of steps after these in which the density falls from 0.25 to `density`.
        algorithm: the library's algorithm; "auto" takes the cheapest exact one.
        wire: "native", "bf16" for values of 2 bytes in messages, or "int8" for 1 byte.
        correction: None, Momentum(0.9) or Adam(): what is sent instead of the gradient. The
            optimizer must then be SGD without momentum.
        scaler: the GradScaler of the training. Residuals follow its scale.
        group: the process group of the model; None: the default group.
        device: where the gradients are, as for communicator_of().
        comm: a communicator with blocking=False instead of one made from the group. The hook owns
            it. With a scaler it has non_finite="skip", except over NCCL.
        timeout_ms: deadline of a call.
    """

    def __init__(self, density: float = 0.01, *, dense_below: int = 16384, dense_steps: int = 0,
                 warmup: int = 0, algorithm: str = "auto", wire: str = "native",
                 correction: Optional[Any] = None, scaler: Optional[Any] = None,
                 group: Optional[Any] = None, device: Device = None,
                 comm: Optional[Communicator] = None, timeout_ms: int = 600000):
        if not 0 < density <= 1:
            raise ValueError(f"a density of {density}: expected more than 0 and at most 1")
        if correction is not None and scaler is not None and not correction.scales:
            raise ValueError(f"{type(correction).__name__} has no scale: pass no scaler, and unscale "
                             "nothing")
        # DDP writes the name of a hook to its log.
        self.__name__ = self.__qualname__ = "sparsecoll.torch.DDPHook"
        self.density, self.dense_steps, self.warmup = density, dense_steps, warmup
        self.correction, self.scaler = correction, scaler
        self.step = 0
        """The number of backward passes with an exchange so far."""
        size = dist.get_world_size(group)
        if comm is None:
            non_finite = "skip" if nccl_backend_of(group, device) is None else "keep"
            config = Config(blocking=False, algorithm=algorithm, wire=wire, non_finite=non_finite,
                            dense_below=dense_below, timeout_ms=timeout_ms)
            comm = communicator_of(group, config, device)
            if has("sparsecollCommMeasure"):
                comm.measure()  # within groups Auto cannot measure
        elif comm.size != size or not comm.queued:
            raise ValueError(f"a communicator of {comm.size} ranks, queued={comm.queued}: expected "
                             f"{size} ranks and queued=True")
        self.comm = comm
        self._group = group
        # Over NCCL the library cannot skip a call because of values on another rank.
        self._asks_first = scaler is not None and comm.over_nccl
        self._skipped = 0
        self._dense_below = dense_below
        self._slots: Dict[torch.Tensor, Slot] = {}
        self._plans: Dict[Tuple[int, ...], Plan] = {}
        self._names: Dict[torch.Tensor, str] = {}
        self._loaded: Dict[str, Dict[str, torch.Tensor]] = {}
        self._within_step = False
        self._dense_bytes = 0
        self._scale = 1.0 if scaler is None else scaler.get_scale()

    @property
    def state(self) -> "DDPHook":
        """The state for register_comm_hook(): the hook itself."""
        return self

    def register(self, ddp: Any) -> "DDPHook":
        """Registers the hook with a DDP model, and names its states after the parameters."""
        self._names = {p: name for name, p in ddp.module.named_parameters()}
        ddp.register_comm_hook(self.state, self)
        return self

    def __call__(self, state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        if not self._within_step:
            self._begin_step()
        buffer = bucket.buffer()
        plan = self._plan(bucket, buffer)
        if bucket.is_last():
            self._within_step = False
            self.step += 1
        self._dense_bytes += buffer.numel() * buffer.element_size()
        if self._asks_first and not finite_on_all_ranks(buffer, self._group):
            self._skipped += len(plan.parts)
            return completed(buffer.fill_(math.nan))
        self._call(plan, buffer)
        return self._future(buffer, plan.parts)

    def _call(self, plan: Plan, buffer: torch.Tensor) -> None:
        """Makes the group of calls of a bucket, in the order of the current stream."""
        if self.correction is not None:
            for slot, flat, _ in plan.parts:
                self.correction.apply(slot.state, flat)
        comm, stream = self.comm, current_stream(buffer) if buffer.is_cuda else None
        comm._call("sparsecollGroupStart", comm.handle)
        for (slot, _, _), first in zip(plan.parts, plan.calls):
            comm._call("sparseAllreduce", *first, slot.residual.handle, comm.handle, stream)
        comm._call("sparsecollGroupEnd", comm.handle)

    def _begin_step(self) -> None:
        """Multiplies the residuals so that they have the scale of this step's loss."""
        self._within_step = True
        scale = self._scale if self.scaler is None else self.scaler.get_scale()
        if scale != self._scale:
            for slot in self._slots.values():
                slot.residual.scale(scale / self._scale)
                if "u" in slot.state:
                    slot.state["u"].mul_(scale / self._scale)
            self._scale = scale

    def _plan(self, bucket: dist.GradBucket, buffer: torch.Tensor) -> Plan:
        """Returns the plan of a bucket. Making it takes longer than the calls of small tensors, so
        that it is kept until DDP divides the gradients anew."""
        density = self.current_density()
        parameters = bucket.parameters()
        # Neither number can be used again: the plan keeps the buffer, and its slots the parameters.
        key = (buffer.data_ptr(), *map(id, parameters))
        plan = self._plans.get(key)
        if plan is None or plan.density != density:
            numbers = set(key[1:])
            self._plans = {other: kept for other, kept in self._plans.items()
                           if numbers.isdisjoint(other[1:])}
            parts = self._parts(parameters, bucket.gradients(), buffer, density)
            datatype = datatype_of(buffer.dtype)
            calls = [(flat.data_ptr(), flat.data_ptr(), flat.numel(), k, datatype, RedOp.AVG)
                     for _, flat, k in parts]
            plan = self._plans[key] = Plan(density, parts, calls)
        return plan

    def _parts(self, parameters: List[torch.Tensor], gradients: List[torch.Tensor],
               buffer: torch.Tensor, density: float) -> List[Tuple[Slot, torch.Tensor, int]]:
        """Returns for each parameter of a bucket its state, its piece of the buffer, and k."""
        parts = []
        start, size = buffer.data_ptr(), buffer.element_size()
        for parameter, gradient in zip(parameters, gradients):
            count = gradient.numel()
            offset = (gradient.data_ptr() - start) // size if count else 0
            whole = density >= 1 or count < self._dense_below
            k = count if whole else max(1, math.ceil(count * density))
            parts.append((self._slot(parameter, buffer.dtype), buffer[offset : offset + count], k))
        return parts

    def current_density(self) -> float:
        """Returns the density of this step: that of the warm-up, as in Deep Gradient Compression."""
        step = self.step - self.dense_steps
        if step < 0:
            return 1.0
        if step >= self.warmup or self.density >= 0.25:
            return self.density
        return 0.25 * (self.density / 0.25) ** (step / self.warmup)

    def _slot(self, parameter: torch.Tensor, dtype: torch.dtype) -> Slot:
        slot = self._slots.get(parameter)
        if slot is None:
            name = self._names.get(parameter, str(len(self._slots)))
            slot = Slot(name, Residual(self.comm, parameter.numel(), dtype), {})
            self._slots[parameter] = slot
            if name in self._loaded:
                self._restore(slot, self._loaded.pop(name))
        return slot

    def _future(self, buffer: torch.Tensor, parts: List[Tuple[Slot, torch.Tensor, int]]
                ) -> torch.futures.Future[torch.Tensor]:
        """Returns the future of a bucket, which the end of its group completes."""
        comm = self.comm
        # On a GPU nothing overlaps: torch's own calls of NCCL must not come between those of a group
        # on one rank and behind them on another. Nor does it with a library without notifications.
        if buffer.is_cuda or not has("sparsecollCommNotify"):
            comm.wait(comm.sequence)
            self._delivered(parts)
            return completed(buffer)
        future = torch.futures.Future()

        def done(sequence: int, result: Result) -> None:
            try:
                if result == Result.SUCCESS:
                    self._delivered(parts)
                    future.set_result(buffer)
                else:
                    # Within a notification the library's message cannot be read.
                    future.set_exception(error_of(
                        result, f"call {sequence} of the hook, whose message "
                        "hook.comm.synchronize() raises", comm.rank))
            except Exception as error:  # pylint: disable=broad-except
                future.set_exception(error)

        comm.notify(comm.sequence, done)
        return future

    def _delivered(self, parts: List[Tuple[Slot, torch.Tensor, int]]) -> None:
        if self.correction is None:
            return
        for slot, flat, k in parts:
            if k < flat.numel():
                self.correction.delivered(slot.state, flat)
            if self.scaler is not None:  # an overflow must not stay in the residuals
                slot.state["u"].nan_to_num_(0.0, 0.0, 0.0)

    def stats(self) -> HookStats:
        """Returns what the hook has done on this rank."""
        total = self.comm.stats(total=True)
        seconds = (total.select_seconds + total.pack_seconds + total.exchange_seconds
                   + total.reduce_seconds)
        ratio = self._dense_bytes / total.bytes_sent if total.bytes_sent else math.inf
        return HookStats(self.step, total.bytes_sent, self._dense_bytes, ratio, seconds,
                         total.skipped + self._skipped)

    def state_dict(self) -> Dict[str, bytes]:
        """Returns the state of this rank, for torch.save or a distributed checkpoint. The state is
        one value, since its size changes; its key has the number of the rank."""
        self.comm.synchronize()
        # weights_only of torch 1.13 knows tensors and integers, but no floats.
        scale = torch.tensor(self._scale, dtype=torch.float64)
        own: Dict[str, Any] = {"step": self.step, "scale": scale, "size": self.comm.size}
        for slot in self._slots.values():
            state = torch.frombuffer(bytearray(slot.residual.state()), dtype=torch.uint8)
            own[slot.name] = {"residual": state, **{n: t.clone() for n, t in slot.state.items()}}
        file = io.BytesIO()
        torch.save(own, file)
        return {f"rank{self.comm.rank}": file.getvalue()}

    def load_state_dict(self, state: Dict[str, bytes]) -> None:
        """Restores what state_dict() returned on this rank, with as many ranks. Local, but all ranks
        must call it before their next backward pass."""
        key = f"rank{self.comm.rank}"
        if key not in state:
            raise ValueError(f"the state has no {key}: it is of {', '.join(state)}")
        own = torch.load(io.BytesIO(state[key]), weights_only=True)
        self.step, self._scale = own.pop("step"), float(own.pop("scale"))
        if own.pop("size") != self.comm.size:
            raise ValueError("the state is of another number of ranks")
        slots = {slot.name: slot for slot in self._slots.values()}
        # The other parameters get their states when the hook sees them first.
        self._loaded = {name: part for name, part in own.items() if name not in slots}
        for name, slot in slots.items():
            if name in own:
                self._restore(slot, own[name])

    @staticmethod
    def _restore(slot: Slot, part: Dict[str, torch.Tensor]) -> None:
        slot.residual.load_state(part["residual"].numpy().tobytes())
        slot.state = {name: tensor.clone() for name, tensor in part.items() if name != "residual"}

    def destroy(self) -> None:
        """Frees the communicator and the residuals. Collective."""
        self.comm.destroy()
