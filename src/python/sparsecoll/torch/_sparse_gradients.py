# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Exact sums of gradients that are sparse by nature: those of embeddings."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from sparsecoll import Communicator, Config, SparseVector
from sparsecoll.torch._communicators import _global_rank, communicator_of


class SparseGradients:
    """Averages the gradients of `nn.Embedding(sparse=True)` over the ranks, in coordinate form.

        sparse = sparsecoll.torch.SparseGradients(model)  # before DDP, which then ignores them
        ddp = DistributedDataParallel(model)
        loss.backward()
        sparse.synchronize()
        optimizer.step()

    The sums are exact: nothing is selected. A rank may have no gradient, or one without rows. The
    initial weights are those of rank 0. A row is a block of values with one index.

    Args:
        model: a module, for its Embedding and EmbeddingBag modules with sparse=True; or parameters
            with dense weights of two dimensions.
        group: the process group; None: the default group.
        comm: a communicator of its ranks with blocking=True instead of one made from the group. The
            object owns it.
        timeout_ms: deadline of a call.
    """

    def __init__(self, model: Any, *, group: Optional[Any] = None,
                 comm: Optional[Communicator] = None, timeout_ms: int = 600000):
        if isinstance(model, torch.nn.Module):
            names = _sparse_parameters(model)
            self.parameters: List[torch.Tensor] = list(names.values())
            ignored = list(getattr(model, "_ddp_params_and_buffers_to_ignore", []))
            DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(
                model, ignored + list(names))
        else:
            self.parameters = list(model)
        if not self.parameters:
            raise ValueError("no parameter with sparse gradients")
        if comm is None:
            comm = communicator_of(group, Config(timeout_ms=timeout_ms), self.parameters[0].device)
        elif comm.size != dist.get_world_size(group) or comm.queued:
            raise ValueError(f"a communicator of {comm.size} ranks, queued={comm.queued}: expected "
                             f"{dist.get_world_size(group)} ranks and queued=False")
        self.comm = comm
        for parameter in self.parameters:
            dist.broadcast(parameter.data, src=_global_rank(group), group=group)

    def synchronize(self) -> None:
        """Replaces the gradients by their means over the ranks. Collective."""
        sums = []
        with self.comm.group() as group:
            for parameter in self.parameters:
                send = _vector_of(parameter)
                room = min(send.nnz * self.comm.size, send.count)
                recv = SparseVector(send.count, capacity=room, like=parameter.detach(),
                                    index_dtype=np.uint64, block_size=send.block_size)
                sums.append(group.sparse_allreducev(send, recv, op="avg"))
        for parameter, total in zip(self.parameters, sums):
            parameter.grad = _gradient_of(parameter, total)

    def destroy(self) -> None:
        """Frees the communicator. Collective."""
        self.comm.destroy()


def _sparse_parameters(model: torch.nn.Module) -> Dict[str, torch.Tensor]:
    """Returns the weights of embeddings with sparse gradients, by name."""
    found: Dict[str, torch.Tensor] = {}
    for name, module in model.named_modules():
        kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        if isinstance(module, kinds) and module.sparse and module.weight.requires_grad:
            found[f"{name}.weight" if name else "weight"] = module.weight
    return found


def _vector_of(parameter: torch.Tensor) -> SparseVector:
    """Returns the gradient of a parameter. A row is a block."""
    columns = parameter.shape[1]
    gradient = parameter.grad
    if gradient is None:
        rows = torch.empty(0, dtype=torch.int64, device=parameter.device)
        values = torch.empty(0, columns, dtype=parameter.dtype, device=parameter.device)
    elif gradient.is_sparse:
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
    else:
        raise TypeError("the gradient is not sparse")
    return SparseVector(len(parameter), rows.contiguous(), values.detach().contiguous(),
                        block_size=columns)


def _gradient_of(parameter: torch.Tensor, total: SparseVector) -> torch.Tensor:
    """Returns the sum as a sparse gradient."""
    values = total.values.reshape(-1, parameter.shape[1])
    gradient = torch.sparse_coo_tensor(total.indices[None], values, parameter.shape)
    return gradient._coalesced_(True)
