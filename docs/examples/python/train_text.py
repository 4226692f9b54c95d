#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer on the characters of a text, with DistributedDataParallel.

    python3 -m sparsecoll.torch.launch -n 4 train_text.py --mode hook

Modes: `dense` is DDP's own allreduce over gloo; `hook` is sparsecoll.torch.DDPHook with Adam as the
optimizer; `adam` and `momentum` are the hook with a correction, and SGD as the optimizer.
"""

import argparse
import json
import pathlib
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sparsecoll.torch as st


class Transformer(torch.nn.Module):
    """Predicts the next character at every position."""

    def __init__(self, characters, length, width, layers):
        super().__init__()
        self.characters = torch.nn.Embedding(characters, width)
        self.places = torch.nn.Parameter(0.02 * torch.randn(length, width))
        layer = torch.nn.TransformerEncoderLayer(
            width, max(1, width // 64), 4 * width, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = torch.nn.Linear(width, characters)
        self.register_buffer("future", torch.triu(torch.full((length, length), -1e9), diagonal=1))

    def forward(self, text):
        length = text.shape[1]
        x = self.characters(text) + self.places[:length]
        return self.out(self.layers(x, mask=self.future[:length, :length]))


def read_text(path):
    """Returns the text as numbers of characters, and how many characters there are."""
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    numbers = {c: i for i, c in enumerate(sorted(set(text)))}
    return torch.tensor([numbers[c] for c in text]), len(numbers)


def make_training(model, options):
    """Returns the DDP model, the optimizer, and the hook or None."""
    ddp = DistributedDataParallel(model)
    if options.mode == "dense":
        return ddp, torch.optim.Adam(model.parameters(), lr=options.rate), None
    corrections = {"hook": None, "adam": st.Adam(), "momentum": st.Momentum(0.9)}
    hook = st.DDPHook(options.density, dense_below=options.dense_below, wire=options.wire,
                      dense_steps=options.dense_steps, warmup=options.warmup,
                      correction=corrections[options.mode]).register(ddp)
    if options.mode == "hook":
        return ddp, torch.optim.Adam(model.parameters(), lr=options.rate), hook
    return ddp, torch.optim.SGD(model.parameters(), lr=options.rate), hook


def train(options):
    """Trains. Returns what rank 0 reports: the seconds and the mean loss of the ranks by step."""
    rank = dist.get_rank()
    text, characters = read_text(options.text)
    torch.manual_seed(options.seed)
    model = Transformer(characters, options.length, options.width, options.layers)
    ddp, optimizer, hook = make_training(model, options)
    generator = torch.Generator().manual_seed(1000 * options.seed + rank)
    log, seconds = [], 0.0
    for step in range(options.steps):
        starts = torch.randint(len(text) - options.length - 1, (options.batch,), generator=generator)
        rows = torch.stack([text[i : i + options.length + 1] for i in starts])
        begin = time.monotonic()
        logits = ddp(rows[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds += time.monotonic() - begin
        if (step + 1) % options.every == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            log.append({"step": step + 1, "seconds": round(seconds, 3),
                        "loss": round(mean.item() / dist.get_world_size(), 4)})
            if rank == 0:
                print(json.dumps({"mode": options.mode, **log[-1]}), flush=True)
    if hook is not None:
        if rank == 0:
            print(hook.stats())
        hook.destroy()
    return log


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=["dense", "hook", "adam", "momentum"], default="hook")
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3", help="a file")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="report after so many steps")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--dense-below", type=int, default=2048)
    parser.add_argument("--dense-steps", type=int, default=0)
    parser.add_argument("--warmup", type=int, default=0, help="steps in which the density falls")
    parser.add_argument("--wire", choices=["native", "bf16", "int8"], default="native")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--length", type=int, default=64, help="characters in a row")
    parser.add_argument("--batch", type=int, default=8, help="rows on each rank")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    log = train(options)
    dist.destroy_process_group()
    assert log[-1]["loss"] < log[0]["loss"] or len(log) < 2


if __name__ == "__main__":
    main()
