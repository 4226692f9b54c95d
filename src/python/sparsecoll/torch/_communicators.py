# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators of the ranks of a process group."""

from __future__ import annotations

from typing import Any, Optional

import torch
import torch.distributed as dist

from sparsecoll import Communicator, Config, unique_id


def communicator_of(group: Optional[Any] = None, config: Optional[Config] = None) -> Communicator:
    """Makes a communicator of the ranks of a process group. Collective.

    With NCCL it uses the group's ncclComm_t, so that buffers must be on its device. With any other
    backend messages go over UCX, and the group only brings the id to all ranks.

    Args:
        group: None: the default group.
        config: None: defaults. The number of ranks is checked.
    """
    config = Config() if config is None else config
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    config.expected_ranks = size
    if dist.get_backend(group) == "nccl":
        return Communicator.init_nccl(_nccl_of(group), config)
    box = [unique_id() if rank == 0 else None]
    dist.broadcast_object_list(box, src=_global_rank(group), group=group)
    return Communicator.init_rank(size, box[0], rank, config)


def _global_rank(group: Optional[Any]) -> int:
    """Returns the number that rank 0 of a group has in the default group."""
    if group is None:
        return 0
    if hasattr(dist, "get_global_rank"):
        return dist.get_global_rank(group, 0)
    return dist.distributed_c10d._get_global_rank(group, 0)  # torch 1.12


def _nccl_of(group: Optional[Any]) -> int:
    """Returns the address of the ncclComm_t of a group."""
    group = dist.group.WORLD if group is None else group
    device = torch.device("cuda", torch.cuda.current_device())
    backend = group._get_backend(device) if hasattr(group, "_get_backend") else group
    if not hasattr(backend, "_comm_ptr"):
        raise RuntimeError(f"torch {torch.__version__} does not give the ncclComm_t of a group; "
                           "pass a communicator")
    dist.barrier(group, device_ids=[device.index])  # NCCL makes its communicator at the first call
    return backend._comm_ptr()
