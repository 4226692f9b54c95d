# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Reduce-scatter with selection, for sharded optimizers and FSDP2."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
import torch.distributed as dist

from sparsecoll import Communicator, Residual, SparseVector
from sparsecoll._library import has


class ReduceScatter:
    """Sums the top-k entries of the ranks' tensors; each rank gets its equal part of the sum.

    FSDP2 takes it where torch has `set_custom_reduce_scatter`; each module needs one of its own,
    because it holds the residual of the module's gradients:

        for module in model.modules():
            if isinstance(module, FSDPModule):
                module.set_custom_reduce_scatter(ReduceScatter(comm, density=0.01))

    Args:
        comm: a communicator with blocking=True of the ranks over which FSDP shards. Several objects
            may share it; it must outlive them.
        density: the share of the entries that each rank sends.
        feedback: whether values that are not sent are added in the next call of the same length.
    """

    def __init__(self, comm: Communicator, density: float = 0.01, feedback: bool = True):
        if comm.queued:
            raise ValueError("a communicator with blocking=False: expected one with blocking=True")
        self.comm = comm
        self.density = density
        self._feedback = feedback
        self._residual: Optional[Residual] = None

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                 group: Optional[Any] = None, op: Any = dist.ReduceOp.SUM,
                 async_op: bool = False) -> None:
        """Writes this rank's part of the sum to output_tensor. Collective; done on return.

        Args:
            output_tensor: 1/P of the values of input_tensor.
            input_tensor: the values of this rank, in P parts of one length.
            group: is not used; the ranks are those of the communicator.
            op: ReduceOp.SUM or AVG.
            async_op: is not used.
        """
        count, part = input_tensor.numel(), output_tensor.numel()
        if part * self.comm.size != count:
            raise ValueError(f"{count} values for {self.comm.size} parts of {part}")
        if op not in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
            raise ValueError(f"{op}: expected SUM or AVG")
        if self._feedback and (self._residual is None or self._residual.count != count):
            self._residual = Residual(self.comm, input_tensor)
        region = self.comm.sparse_reduce_scatter(
            input_tensor, k=max(1, math.ceil(self.density * count)) if count else 0,
            op="avg" if op == dist.ReduceOp.AVG else "sum",
            bounds=[rank * part for rank in range(self.comm.size + 1)], residual=self._residual)
        self._write(region, output_tensor)

    def _write(self, region: SparseVector, output: torch.Tensor) -> None:
        begin = self.comm.rank * output.numel()
        if has("sparsecollScatterAt"):
            self.comm.scatter(region, output, offset=begin)
            return
        output.zero_()
        where = torch.from_numpy(region.indices.astype("int64")) - begin
        output.view(-1)[where] = torch.from_numpy(region.values)

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Returns a tensor for FSDP2."""
        return torch.empty(size, dtype=dtype, device=device)
