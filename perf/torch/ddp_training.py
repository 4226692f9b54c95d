#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer on the bytes of a text by DistributedDataParallel, with one communication hook
after the other. Every way begins with the same model and sees the same text.

Ways:
  dense        DDP's own allreduce over gloo
  fp16, bf16   torch's fp16_compress_hook and bf16_compress_hook
  powersgd     torch's powerSGD_hook
  sparse       sparsecoll.torch.DDPHook; sparse-bf16 with values of 2 bytes in messages

Losses depend neither on the network nor on the machine's load. So a curve can be measured anywhere,
and the time of a step in a few steps on each network; ddp_training.sh does so.

Examples:
  perf/launch -n 2 python3 perf/torch/ddp_training.py --way dense sparse --width 64 --steps 20
  perf/netlab run --nodes 8 --rate 100mbit -- perf/torch/rank.sh \\
    python3 perf/torch/ddp_training.py --way dense --steps 12 --network 100mbit -J rows.json
Both need PYTHONPATH=src/python, and SPARSECOLL_LIBRARY if the library is not installed."""

import gzip
import hashlib
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import sparsecoll.torch as st

# Makes the modules of perf/, and the example's model, importable from any current folder.
sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parents[1] / "docs" / "examples" / "python")]

from plots import options as command_line  # noqa: E402
from sparse_gradients_perf import bytes_out  # noqa: E402
from tables import Table, number, over_ranks  # noqa: E402
from train_text import Transformer  # noqa: E402

WAYS = ("dense", "fp16", "bf16", "powersgd", "sparse", "sparse-bf16")


def read_text(paths):
    """Returns the bytes of files, and of all files of folders, in the order of their names."""
    parts = []
    for path in map(pathlib.Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                parts.append(gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes())
    return b"".join(parts)


class Text:
    """The text as numbers of the bytes that it has; its last part is held out for the loss."""

    def __init__(self, options):
        raw = read_text(options.text)
        self.digest = hashlib.sha256(raw).hexdigest()[:12]
        known = sorted(set(raw))
        self.symbols = len(known)
        numbers = torch.zeros(256, dtype=torch.long)
        numbers[torch.tensor(known)] = torch.arange(len(known))
        self._text = numbers[torch.frombuffer(bytearray(raw), dtype=torch.uint8).long()]
        self._length = options.length
        self._split = len(self._text) * 19 // 20
        rank, size = dist.get_rank(), dist.get_world_size()
        self._generator = torch.Generator().manual_seed(1000 * options.seed + rank)
        # Each rank has its part of the rows held out, evenly spread.
        last = len(self._text) - options.length - 1
        places = torch.linspace(self._split, last, size * options.held_out).long()
        self.held_out = self._rows(places[rank::size])

    def _rows(self, starts):
        return torch.stack([self._text[i : i + self._length + 1] for i in starts.tolist()])

    def batch(self, rows):
        return self._rows(torch.randint(self._split - self._length - 1, (rows,), generator=self._generator))


def loss_of(model, rows):
    return torch.nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


class Training:
    """A model with its hook and its optimizer."""

    def __init__(self, way, symbols, options):
        torch.manual_seed(options.seed)
        self.model = Transformer(symbols, options.length, options.width, options.layers)
        self.count = sum(p.numel() for p in self.model.parameters())
        self.ddp = self._parallel(way, options)
        self.hook = None
        sparse = way.startswith("sparse")
        if way in ("fp16", "bf16"):
            self.ddp.register_comm_hook(None, getattr(default_hooks, f"{way}_compress_hook"))
        elif way == "powersgd":
            state = powerSGD_hook.PowerSGDState(None, options.power_rank, options.power_start)
            self.ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        elif sparse:
            self.hook = st.DDPHook(options.density, dense_below=options.dense_below,
                                   dense_steps=options.dense_steps, warmup=options.warmup,
                                   correction={"adam": st.Adam(), "sgd": st.Momentum(0.9)}[options.optimizer],
                                   wire="bf16" if way == "sparse-bf16" else "native").register(self.ddp)
        parameters, rate = self.model.parameters(), options.sparse_rate if sparse else options.rate
        if sparse:  # the hook has Adam, or the momentum
            self.optimizer = torch.optim.SGD(parameters, lr=rate)
        elif options.optimizer == "adam":
            self.optimizer = torch.optim.Adam(parameters, lr=rate)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=rate, momentum=0.9)

    def _parallel(self, way, options):
        bucket, first = 25, dist._DEFAULT_FIRST_BUCKET_BYTES
        if way == "powersgd" and not options.power_bucket:
            # The exchanges of two buckets overtake each other on some ranks, which gloo does not survive.
            bucket, dist._DEFAULT_FIRST_BUCKET_BYTES = 1 << 20, 1 << 40
        ddp = DistributedDataParallel(self.model, bucket_cap_mb=bucket, gradient_as_bucket_view=True)
        dist._DEFAULT_FIRST_BUCKET_BYTES = first
        return ddp

    def step(self, rows):
        """Makes a step and returns its seconds."""
        begin = time.perf_counter()
        self.optimizer.zero_grad()
        loss_of(self.ddp, rows).backward()
        self.optimizer.step()
        return time.perf_counter() - begin

    def computing(self, rows):
        """Returns the seconds of a step without exchange: what is left of a step on an endless network.
        The gradient is that of this rank alone, so that the model is of no use afterwards."""
        with self.ddp.no_sync():
            return self.step(rows)

    def loss(self, rows):
        """Returns the mean loss of all ranks' rows. Collective."""
        with torch.no_grad():
            mean = loss_of(self.model, rows).double().reshape(1)
        dist.all_reduce(mean)
        return mean.item() / dist.get_world_size()

    def phase_ms(self):
        """Returns the mean time of a step that the hook's calls took in each phase, over steps and ranks."""
        if self.hook is None:
            return {}
        stats = self.hook.comm.stats(total=True)
        names = ("select", "pack", "exchange", "reduce")
        total = over_ranks([getattr(stats, f"{name}_seconds") for name in names], dist.ReduceOp.SUM)
        each = 1000 / dist.get_world_size() / self.hook.step
        return {name: round(each * seconds, 2) for name, seconds in zip(names, total)}

    def destroy(self):
        if self.hook is not None:
            self.hook.destroy()


def measure(way, options):
    """Trains by one way. Returns the fields of its row of JSON."""
    text = Text(options)
    training = Training(way, text.symbols, options)
    seconds, losses = [], [(0, training.loss(text.held_out))]
    dist.barrier()
    before = bytes_out()
    for step in range(1, options.steps + 1):
        seconds.append(training.step(text.batch(options.batch)))
        if step % options.every == 0 or step == options.steps:
            losses.append((step, training.loss(text.held_out)))
            if losses[-1][1] <= options.goal:
                break
    sent = -1 if before is None else bytes_out() - before
    phases = training.phase_ms()
    computing = [training.computing(text.batch(options.batch)) for _ in range(options.compute_steps)]
    training.destroy()
    milliseconds = [round(1000 * each, 2) for each in over_ranks(seconds)]
    mean_sent = over_ranks([sent], dist.ReduceOp.SUM)[0] / dist.get_world_size() / len(seconds)
    return {
        "way": way, "network": options.network, "ranks": dist.get_world_size(), "count": training.count,
        "batch": options.batch, "length": options.length, "width": options.width, "layers": options.layers,
        "optimizer": options.optimizer, "seed": options.seed,
        "rate": options.sparse_rate if training.hook else options.rate,
        "density": options.density if training.hook else 1, "dense_below": options.dense_below,
        "warmup": options.warmup if training.hook else 0, "text": text.digest,
        # The first steps, in which the way sends all, before it begins to send less.
        "dense_steps": {"powersgd": options.power_start}.get(way, options.dense_steps if training.hook else 0),
        "power_rank": options.power_rank if way == "powersgd" else 0,
        "step_ms": milliseconds, "compute_ms": [round(1000 * each, 2) for each in over_ranks(computing)],
        "link_bytes": round(mean_sent) if mean_sent >= 0 else None,
        "phase_ms": phases, "losses": losses,
    }


def blas():
    """Returns the files of the BLAS in this process: with the reference BLAS a step computes ten times as long."""
    maps = pathlib.Path("/proc/self/maps").read_text().split()
    return " ".join(sorted({pathlib.Path(word).name for word in maps if "blas" in word and ".so" in word}))


def cells(fields, skipped):
    """Returns the cells of a way's row of the table."""
    steps = fields["step_ms"][skipped:] or fields["step_ms"]
    median, computing = statistics.median(steps), statistics.median(fields["compute_ms"] or [math.nan])
    return [fields["way"], fields["network"] or "-", str(len(fields["step_ms"])), number(min(steps)), number(median),
            number(sum(fields["step_ms"]) / 1000), number(computing), number(100 * computing / median),
            "-" if fields["link_bytes"] is None else number(fields["link_bytes"] / 1e6),
            f"{fields['losses'][-1][1]:.4f}"]


def arguments():
    parser = command_line.Parser(description=__doc__)
    parser.add_argument("--way", nargs="+", choices=WAYS, default=["dense", "sparse"])
    parser.add_argument("--text", nargs="+", default=["/usr/share/doc/git/RelNotes"],
                        help="files and folders, .gz too (git's release notes)")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--goal", type=float, default=0, help="a loss that ends the training")
    parser.add_argument("--every", type=int, default=10, help="steps between two losses")
    parser.add_argument("--skip", type=int, default=3, help="first steps that are not in min and median")
    parser.add_argument("--compute-steps", type=int, default=5, help="steps without exchange at the end")
    parser.add_argument("--network", default="", help="the network's name, for the rows")
    parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam",
                        help="sgd: with a momentum of 0.9. The hook has both as a correction")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate")
    parser.add_argument("--sparse-rate", type=float, default=1e-3, help="that of the ways with DDPHook")
    parser.add_argument("--density", type=float, default=0.01)
    parser.add_argument("--dense-below", type=int, default=4096)
    parser.add_argument("--dense-steps", type=int, default=0)
    parser.add_argument("--warmup", type=int, default=20, help="steps in which the density falls")
    parser.add_argument("--power-rank", type=int, default=4)
    parser.add_argument("--power-start", type=int, default=10, help="steps before PowerSGD compresses, 2 or more")
    parser.add_argument("--power-bucket", action="store_true",
                        help="PowerSGD with DDP's buckets of 25 MB, instead of one bucket")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--length", type=int, default=32, help="bytes in a row of text")
    parser.add_argument("--batch", type=int, default=1, help="rows on each rank")
    parser.add_argument("--held-out", type=int, default=8, help="rows on each rank for the loss")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-J", "--json", default="", help="file for rows of JSON")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    table = Table("ddp_training", [
        ("way", "", 11), ("network", "", 8), ("steps", "", 5), ("step min", "(ms)", 8), ("median", "(ms)", 8),
        ("all", "(s)", 8), ("compute", "(ms)", 8), ("compute", "(%)", 7), ("link", "(MB/step)", 9),
        ("loss", "(nats)", 7)], options.json)
    table.describe()
    table.comment(f"BLAS: {blas() or 'none'}")
    table.comment(f"time of a step: max over ranks; min and median after {options.skip} steps; compute: a step "
                  "without exchange")
    table.comment("link: bytes of the network that a rank sends; loss: of text that was held out")
    table.titles()
    failed = []
    for way in options.way:
        try:
            fields = measure(way, options)
            table.row(cells(fields, options.skip), fields)
        except (RuntimeError, TypeError) as error:
            message = str(error).strip().splitlines()[0]
            table.row([way, options.network or "-"], {"way": way, "network": options.network, "error": message})
            table.comment(f"{way}: {type(error).__name__}: {message}")
            failed.append(way)
    dist.destroy_process_group()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
