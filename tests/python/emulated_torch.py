# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for torch's groups, streams and tensors on a GPU that is not there; see emulated.py."""

import contextlib
import threading
import types
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist

from emulated import DeviceArray, new_stream, on_nccl_ranks
from sparsecoll.torch import _communicators
from support import Case

RANKS = 3
here = threading.local()  # of a rank: the current device, the current stream, the step
RealFuture = torch.futures.Future


class Nccl:
    """A backend that has its ncclComm_t on one device, once a collective was made there."""

    def __init__(self, nccl, device=0):
        self.nccl, self.device, self.connected = nccl, device, False

    def _comm_ptr(self):
        return self.nccl if self.connected and here.device == self.device else 0


class Group:
    """A process group. Its backend for GPUs may be None: there is none."""

    def __init__(self, rank, size, backend):
        self.rank, self.size, self.backend = rank, size, backend

    def _get_backend(self, device):
        assert device.type == "cuda" and device.index is not None
        if self.backend is None:
            raise RuntimeError("No backend type associated with device type cuda")
        return self.backend


def connect(group, gpu):
    group.backend.connected = gpu.index == group.backend.device


@contextlib.contextmanager
def use_device(gpu):
    before, here.device = here.device, gpu.index
    yield
    here.device = before


class Tensor:
    """A tensor on the emulated device, with what sparsecoll uses of one."""

    is_cuda = True

    def __init__(self, array, first=0, count=None):
        self.array, self.first = array, first
        self.count = array.shape[0] - first if count is None else count
        self.device = torch.device("cuda", 0)
        self.dtype = getattr(torch, array.dtype.name)
        self.recorded = []

    @property
    def shape(self):
        return (self.count,)

    def is_contiguous(self):
        return True

    def element_size(self):
        return self.array.dtype.itemsize

    def numel(self):
        return self.count

    def data_ptr(self):
        return self.array.address + self.first * self.element_size()

    def __getitem__(self, part):
        first, end, _ = part.indices(self.count)
        return Tensor(self.array, self.first + first, end - first)

    def new_empty(self, shape, dtype=None):
        name = self.array.dtype.name if dtype is None else str(dtype)[6:]
        return Tensor(DeviceArray(np.zeros(shape, name), self.array.stream))

    def fill_(self, value):
        self.array.put(np.full(self.array.shape, value))
        return self

    def record_stream(self, stream):
        self.recorded.append(stream.cuda_stream)

    def read(self):
        return self.array.read()[self.first : self.first + self.count]


def tensor(values):
    """Returns a tensor of the thread's device and current stream."""
    return Tensor(DeviceArray(values, here.stream))


def stream_here(_device=None):
    return types.SimpleNamespace(cuda_stream=here.stream)


PATCHES = [
    mock.patch.object(torch.cuda, "is_available", lambda: True),
    mock.patch.object(torch.cuda, "current_device", lambda: here.device),
    mock.patch.object(torch.cuda, "device", use_device),
    mock.patch.object(torch.cuda, "current_stream", stream_here),
    mock.patch.object(torch.cuda, "default_stream",
                      lambda _device: types.SimpleNamespace(cuda_stream=0)),
    mock.patch.object(torch.cuda, "ExternalStream",
                      lambda stream, device: types.SimpleNamespace(cuda_stream=stream)),
    mock.patch.object(torch.futures, "Future", lambda devices=None: RealFuture()),
    mock.patch.object(dist, "get_rank", lambda group: group.rank),
    mock.patch.object(dist, "get_world_size", lambda group: group.size),
    mock.patch.object(_communicators, "_connect", connect),
    mock.patch.object(_communicators, "_global_rank", lambda group: 0),
]


def on_groups(body, nranks=RANKS):
    """Calls body(group) on each rank; the group has a backend over the stand-in for NCCL."""
    def run(rank, nccl):
        here.device, here.stream = rank, new_stream()
        return body(Group(rank, nranks, Nccl(nccl, rank)))

    return on_nccl_ranks(nranks, run)


class OverNccl(Case):
    def setUp(self):
        super().setUp()
        here.device, here.stream = 0, 0
        for patch in PATCHES:
            patch.start()
            self.addCleanup(patch.stop)
