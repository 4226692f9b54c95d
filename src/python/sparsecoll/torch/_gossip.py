# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Gossip training: push-sum averages parameters with neighbours."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import torch
import torch.distributed as dist

from sparsecoll import Communicator, Config, PushSum, PushSumConfig
from sparsecoll.torch._communicators import _global_rank, communicator_of


class Gossip:
    """Stochastic Gradient Push (Assran et al., ICML 2019): no rank waits for all others.

        gossip = sparsecoll.torch.Gossip(model, optimizer, max_delay=2)
        loss.backward()
        gossip.step()         # instead of optimizer.step()
        gossip.synchronize()  # before evaluation: all ranks get the mean

    The model is not wrapped in DDP. Its parameters become views of one tensor for each type, which
    holds the estimate x / w, where gradients are computed; the optimizer changes the numerator x. At
    first all ranks have the parameters of rank 0. Buffers such as those of BatchNorm stay local.

    Args:
        model: the module.
        optimizer: the optimizer of its parameters.
        graph: "exponential", "npeer_exponential", "ring" or "bipartite_exponential".
        peers: out-neighbours of "npeer_exponential".
        max_delay: Overlap SGP: a step waits only for messages that are this many steps old.
        density: 0: messages hold all values; above 0: compressed gossip with this share of them.
        mixing: gamma of compressed gossip.
        group: the process group; None: the default group.
        comm: a communicator of its ranks with blocking=True. The object owns it.
        timeout_ms: deadline of a call.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, *,
                 graph: str = "exponential", peers: int = 1, max_delay: int = 0,
                 density: float = 0.0, mixing: float = 1.0, group: Optional[Any] = None,
                 comm: Optional[Communicator] = None, timeout_ms: int = 600000):
        self.optimizer = optimizer
        if comm is None:
            comm = communicator_of(group, Config(timeout_ms=timeout_ms),
                                   next(model.parameters()).device)
        elif comm.size != dist.get_world_size(group) or comm.queued:
            raise ValueError(f"a communicator of {comm.size} ranks, queued={comm.queued}: expected "
                             f"{dist.get_world_size(group)} ranks and queued=False")
        self.comm = comm
        by_type: Dict[torch.dtype, List[torch.nn.Parameter]] = {}
        for parameter in model.parameters():
            by_type.setdefault(parameter.dtype, []).append(parameter)
        self._estimates, self._numerators, self._states = [], [], []
        for parameters in by_type.values():
            flat = torch.cat([p.data.reshape(-1) for p in parameters])
            dist.broadcast(flat, src=_global_rank(group), group=group)
            offset = 0
            for p in parameters:
                p.data = flat[offset : offset + p.numel()].view(p.shape)
                offset += p.numel()
            config = PushSumConfig(graph, peers=peers, max_delay=max_delay, mixing=mixing,
                                   k=round(density * flat.numel()))
            self._estimates.append(flat)
            self._numerators.append(flat.clone())
            self._states.append(PushSum(comm, flat, config=config))

    def step(self, closure: Optional[Any] = None) -> Any:
        """Makes a step of the optimizer and one of push-sum. Every rank calls it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()  # gradients at the estimate
        for estimate, x in zip(self._estimates, self._numerators):
            estimate.copy_(x)
        self.optimizer.step()
        for estimate, x, state in zip(self._estimates, self._numerators, self._states):
            x.copy_(estimate)
            state.step(x, estimate)
        return loss

    def synchronize(self) -> None:
        """Gives all ranks the mean of their parameters, exactly. Collective; waits for all ranks."""
        for estimate, x, state in zip(self._estimates, self._numerators, self._states):
            state.drain(x, estimate)
            weight = state.weight
            self.comm.sparse_allreduce(x, estimate, k=x.numel(), op="avg")
            # From now on the mean is the estimate of every rank. The weights do not change.
            x.copy_(estimate).mul_(weight)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the state of this rank: weights, numerators and copies of compressed gossip. With
        max_delay call synchronize() first: messages may be in flight."""
        states = [torch.frombuffer(bytearray(s.state()), dtype=torch.uint8) for s in self._states]
        return {f"rank{self.comm.rank}": {"states": states,
                                          "numerators": [x.clone() for x in self._numerators]}}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Restores what state_dict() returned on this rank. All ranks must call it."""
        own = state[f"rank{self.comm.rank}"]
        for each, saved in zip(self._states, own["states"]):
            each.load_state(saved.numpy().tobytes())
        for x, estimate, saved, each in zip(self._numerators, self._estimates, own["numerators"],
                                            self._states):
            x.copy_(saved)
            estimate.copy_(x / each.weight)

    def destroy(self) -> None:
        """Frees the communicator and the states. Collective."""
        self.comm.destroy()
