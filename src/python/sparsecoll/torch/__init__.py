# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""sparsecoll for PyTorch: data-parallel training over slow networks. See docs/pytorch.md.

DDPHook replaces the allreduce of DistributedDataParallel, SparseGradients that of embeddings with
sparse gradients, Gossip averages parameters with neighbours, ReduceScatter is for sharded
optimizers. `python -m sparsecoll.torch.launch` starts processes.
"""

from sparsecoll.torch._communicators import communicator_of
from sparsecoll.torch._corrections import Adam, Momentum
from sparsecoll.torch._ddp import DDPHook
from sparsecoll.torch._gossip import Gossip
from sparsecoll.torch._reduce_scatter import ReduceScatter
from sparsecoll.torch._sparse_gradients import SparseGradients

__all__ = ["Adam", "DDPHook", "Gossip", "Momentum", "ReduceScatter", "SparseGradients",
           "communicator_of"]
