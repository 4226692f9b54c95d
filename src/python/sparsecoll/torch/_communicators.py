# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators of the ranks of a process group."""

from __future__ import annotations

from typing import Any, Optional, Union

import torch
import torch.distributed as dist

from sparsecoll import Communicator, Config, unique_id

Device = Union[None, str, torch.device]


def communicator_of(group: Optional[Any] = None, config: Optional[Config] = None,
                    device: Device = None) -> Communicator:
    """Makes a communicator of the ranks of a process group. Collective.

    For tensors on a GPU whose backend in the group is NCCL, and tells its ncclComm_t (`_comm_ptr()`
    in torch 2.15), messages go over NCCL. All tensors must then be on that GPU. In all other cases
    messages go over UCX, and the group only brings the id to all ranks.

    Destroy the communicator before the group, on all ranks. Over NCCL it keeps the group alive.

    Args:
        group: None: the default group.
        config: None: defaults. The number of ranks is checked.
        device: where the tensors are: for example "cpu" if the group has NCCL, too. None: on the
            current GPU if the group has NCCL there, otherwise anywhere.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if rank < 0:
        raise ValueError("this process is not in the group")
    config = Config() if config is None else Config.from_buffer_copy(config)
    config.expected_ranks = config.expected_ranks or size
    backend = nccl_backend_of(group, device)
    if backend is not None:
        return _over_nccl(group, backend, _gpu_of(device), rank, config)
    box = [unique_id() if rank == 0 else None]
    dist.broadcast_object_list(box, src=_global_rank(group), group=group)
    return Communicator.init_rank(size, box[0], rank, config)


def nccl_backend_of(group: Optional[Any], device: Device) -> Optional[Any]:
    """Returns the backend of a group for a device if it can tell its ncclComm_t, otherwise None.

    The name of the backend is not asked: torch has several for NCCL ("nccl", "nccl2"), and a group
    may have several backends ("cpu:gloo,cuda:nccl")."""
    on_gpu = device is None or torch.device(device).type == "cuda"
    if not on_gpu or not torch.cuda.is_available():
        return None
    group = _group_of(group)
    if not hasattr(group, "_get_backend"):
        return None  # torch 1: a group is its only backend
    try:
        backend = group._get_backend(_gpu_of(device))
    except RuntimeError:
        return None  # no backend for GPUs
    backend = getattr(backend, "wrapped_pg", backend)  # with TORCH_DISTRIBUTED_DEBUG=DETAIL
    return backend if hasattr(backend, "_comm_ptr") else None


def _gpu_of(device: Device) -> torch.device:
    gpu = torch.device("cuda" if device is None else device)
    return torch.device("cuda", torch.cuda.current_device() if gpu.index is None else gpu.index)


def _group_of(group: Optional[Any]) -> Any:
    return dist.distributed_c10d._get_default_group() if group is None else group


def _over_nccl(group: Optional[Any], backend: Any, gpu: torch.device, rank: int, config: Config
               ) -> Communicator:
    group = _group_of(group)
    with torch.cuda.device(gpu):  # torch gives the ncclComm_t of the current device
        _connect(group, gpu)
        nccl = backend._comm_ptr()
        if not nccl:
            raise RuntimeError(f"the group's ncclComm_t of {gpu}: expected an address, got 0: torch "
                               "has made none; is it the GPU of this rank?")
        comm = Communicator.init_nccl(nccl, config, owner=group)
    if comm.rank != rank:
        number = comm.rank
        comm.abort()
        comm.destroy()
        raise ValueError(f"rank {rank} of the group has an ncclComm_t in which it is rank "
                         f"{number}: expected the same rank")
    return comm


def _connect(group: Any, gpu: torch.device) -> None:
    """Makes torch create the ncclComm_t, which it does in the first collective on a GPU (earlier
    only with device_id= of init_process_group), and waits until it is idle."""
    dist.all_reduce(torch.zeros(1, device=gpu), group=group)
    torch.cuda.synchronize(gpu)


def _global_rank(group: Optional[Any]) -> int:
    """Returns the number that rank 0 of a group has in the default group."""
    if group is None:
        return 0
    if hasattr(dist, "get_global_rank"):
        return dist.get_global_rank(group, 0)
    return dist.distributed_c10d._get_global_rank(group, 0)  # torch 1.12
