# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The model of the tests of DDPHook."""

from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sparsecoll.torch as st

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
