# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections: what ranks send instead of gradients, so that training converges although most
entries are late.

A gradient that arrives late has missed the momentum of the optimizer. A correction applies the
momentum on each rank before the selection; the optimizer is then SGD without momentum.
"""

from __future__ import annotations

from typing import Dict, Iterator, Tuple

import torch

State = Dict[str, torch.Tensor]

# Operations one after the other on so many values find them in the cache: on whole gradients they would
# read all from memory each time, which takes longer than a sparse exchange.
_PIECE = 1 << 16


def _pieces(*tensors: torch.Tensor) -> Iterator[Tuple[torch.Tensor, ...]]:
    """Yields pieces of tensors of the same shape, so that the caches hold one of each."""
    # On a GPU every operation is a kernel of its own, and fewer are faster.
    size = max(1, tensors[0].numel()) if tensors[0].is_cuda else _PIECE
    return zip(*(tensor.view(-1).split(size) for tensor in tensors))


def _work(state: State, name: str, like: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the state; zeros at first, in float32 for gradients of 16 bits."""
    if name not in state:
        dtype = torch.float32 if like.element_size() < 4 else like.dtype
        state[name] = torch.zeros(like.shape, dtype=dtype, device=like.device)
    return state[name]


class Momentum:
    """Momentum correction with masking, of Deep Gradient Compression (Lin et al., ICLR 2018).

    u = momentum * u + gradient is sent. Where an entry was delivered, u becomes 0: otherwise
    momentum that is as old as the entry would push on. The optimizer is SGD without momentum.
    """

    scales = True  # u grows with the scale of the loss

    def __init__(self, momentum: float = 0.9):
        if not 0 < momentum < 1:
            raise ValueError(f"a momentum of {momentum}: expected more than 0 and less than 1")
        self.momentum = momentum

    def apply(self, state: State, gradient: torch.Tensor) -> None:
        """Replaces the gradient by the vector to be sent."""
        u = _work(state, "u", gradient)
        for piece, of_u in _pieces(gradient, u):
            piece.copy_(of_u.mul_(self.momentum).add_(piece))

    def delivered(self, state: State, result: torch.Tensor) -> None:
        """Clears the momentum of the entries of a sparse result."""
        for piece, of_u in _pieces(result, state["u"]):
            of_u.masked_fill_(piece != 0, 0)


class Adam:
    """The direction of Adam, computed on each rank from its own gradients.

    With Adam as optimizer a sparse gradient is divided by a magnitude that comes from the few steps
    in which the entry arrived, so that rare entries move too little. Here each rank sends
    m / (sqrt(v) + eps) of its own gradients, and error feedback delivers all of it some time. The
    optimizer is SGD without momentum, with the learning rate of Adam; weight_decay is then that of
    AdamW.
    """

    scales = False  # the scale of the loss cancels out in m / sqrt(v)

    def __init__(self, betas: "tuple[float, float]" = (0.9, 0.999), eps: float = 1e-8):
        self.betas = betas
        self.eps = eps

    def apply(self, state: State, gradient: torch.Tensor) -> None:
        """Replaces the gradient by the vector to be sent."""
        first, second = self.betas
        m, v = _work(state, "m", gradient), _work(state, "v", gradient)
        t = state.setdefault("t", torch.zeros(1))
        t += 1
        step = float(t)
        for piece, of_m, of_v in _pieces(gradient, m, v):
            values = piece.to(m.dtype)
            of_m.mul_(first).add_(values, alpha=1 - first)
            of_v.mul_(second).addcmul_(values, values, value=1 - second)
            denominator = (of_v / (1 - second**step)).sqrt_().add_(self.eps)
            piece.copy_(of_m.div(denominator).div_(1 - first**step))

    def delivered(self, state: State, result: torch.Tensor) -> None:
        """Does nothing: m decays within a few steps, so it need not be cleared like Momentum's
        u."""
