# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""What DDPHook keeps."""

from __future__ import annotations

import dataclasses
from typing import Any, List, Optional, Tuple

import torch
import torch.distributed as dist

from sparsecoll import Residual
from sparsecoll.torch._corrections import State


@dataclasses.dataclass
class Slot:
    """The state that the hook keeps for a parameter."""

    name: str
    residual: Residual
    state: State  # the state of the correction


@dataclasses.dataclass
class Plan:
    """What the hook does with a bucket: the same in every step with the same density."""

    density: float
    parts: List[Tuple[Slot, torch.Tensor, int]]  # each parameter's slot, piece of the buffer, and k
    calls: List[Tuple[Any, ...]]  # the first arguments of each call


@dataclasses.dataclass(frozen=True)
class HookStats:
    """Statistics of a hook on this rank.

    Attributes:
        steps: number of backward passes with an exchange.
        bytes_sent: bytes that this rank sent.
        dense_bytes: bytes of the gradients.
        ratio: dense_bytes / bytes_sent.
        seconds: time of the communicator's thread in calls, mostly beside the backward pass.
        skipped: calls whose residuals stayed as they were because of an overflow.
    """

    steps: int
    bytes_sent: int
    dense_bytes: int
    ratio: float
    seconds: float
    skipped: int


def finite_on_all_ranks(values: torch.Tensor, group: Optional[Any]) -> bool:
    """Returns whether no rank of a group has a NaN or an infinity. Collective; waits."""
    bad = (~torch.isfinite(values)).any().to(torch.int32)
    dist.all_reduce(bad, op=dist.ReduceOp.MAX, group=group)
    return not bad.item()


def completed(buffer: torch.Tensor) -> "torch.futures.Future[torch.Tensor]":
    """Returns a future with a result: that of the work so far on the current stream."""
    future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else None)
    future.set_result(buffer)
    return future
