# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""SparseGradients, Gossip and ReduceScatter on several ranks, run by sparsecoll.torch.launch."""

import copy
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import sparsecoll as sc
import sparsecoll.torch as st
from support import topk, values_of
from torch_support import all_ranks, only, raises, run, same_everywhere

ROWS, COLUMNS = 50, 8


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Embedding(ROWS, COLUMNS, sparse=True)
        self.bag = torch.nn.EmbeddingBag(ROWS, COLUMNS, mode="sum", sparse=True)
        self.out = torch.nn.Linear(COLUMNS, 3)

    def forward(self, words):
        return self.out(self.one(words).sum(1) + self.bag(words)).square().sum()


def embeddings_get_the_mean():
    torch.manual_seed(dist.get_rank())  # the initial weights become those of rank 0
    model = Words()
    sparse = st.SparseGradients(model)
    assert len(sparse.parameters) == 2
    ddp = DistributedDataParallel(model)
    same_everywhere(model.one.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        words = torch.randint(0, ROWS, (4, 5), generator=torch.Generator().manual_seed(
            10 * step + dist.get_rank()))
        dense = copy.deepcopy(model)
        dense.one.sparse = dense.bag.sparse = False
        dense(words).backward()
        optimizer.zero_grad()
        ddp(words).backward()
        sparse.synchronize()
        for name in ("one", "bag"):
            grad = getattr(model, name).weight.grad
            assert grad.is_sparse and grad.is_coalesced() and grad._nnz() < ROWS
            expected = sum(all_ranks(getattr(dense, name).weight.grad.numpy()))
            np.testing.assert_allclose(grad.to_dense().numpy(), expected / dist.get_world_size(),
                                       rtol=1e-6, atol=1e-7)
        optimizer.step()
        same_everywhere(model.one.weight)
    sparse.destroy()


def contributions_may_be_empty():
    weight = torch.nn.Parameter(torch.ones(ROWS, COLUMNS, dtype=torch.float64))
    sparse = st.SparseGradients([weight])
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        weight.grad = torch.sparse_coo_tensor([[3, 7, 3]], torch.ones(3, COLUMNS).double(),
                                              weight.shape)
    elif rank == 1:
        weight.grad = torch.sparse_coo_tensor(torch.empty(1, 0).long(),
                                              torch.empty(0, COLUMNS).double(), weight.shape)
    sparse.synchronize()
    expected = torch.zeros(ROWS, COLUMNS).double()
    expected[3], expected[7] = 2 / size, 1 / size
    torch.testing.assert_close(weight.grad.to_dense(), expected)
    weight.grad = None
    sparse.synchronize()  # empty on all ranks
    assert weight.grad._nnz() == 0
    raises(ValueError, "no parameter", lambda: st.SparseGradients(torch.nn.Linear(2, 2)))
    sparse.destroy()


def gossip_averages_and_trains():
    target = torch.randn(20, generator=torch.Generator().manual_seed(0))
    for options in ({}, {"max_delay": 2, "graph": "ring"}, {"density": 0.3, "mixing": 0.5}):
        torch.manual_seed(dist.get_rank())
        model = torch.nn.Linear(20, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
        gossip = st.Gossip(model, optimizer, **options)
        same_everywhere(model.weight)
        generator = torch.Generator().manual_seed(dist.get_rank())
        for _ in range(80):
            x = torch.randn(16, 20, generator=generator)

            def closure():
                optimizer.zero_grad()
                loss = (model(x)[:, 0] - x @ target).square().mean()
                loss.backward()
                return loss

            loss = gossip.step(closure)
        assert loss.item() < 0.5, (options, loss)
        gossip.synchronize()
        same_everywhere(model.weight)
        same_everywhere(model.bias)
        assert (model.weight[0] - target).abs().max() < 0.3
        gossip.destroy()


def gossip_goes_on_from_a_saved_state():
    runs = []
    for load in (False, True):
        torch.manual_seed(dist.get_rank())
        model = torch.nn.Linear(20, 1)
        gossip = st.Gossip(model, torch.optim.SGD(model.parameters(), lr=0.1))
        for step in range(4):
            if load and step < 2:
                continue
            if load and step == 2:
                gossip.load_state_dict(kept)
            elif step == 2:
                kept = copy.deepcopy(gossip.state_dict())
            model.zero_grad()
            x = torch.full((1, 20), float(step + dist.get_rank()))
            model(x).square().sum().backward()
            gossip.step()
        runs.append(model.weight.detach().clone())
        gossip.destroy()
    torch.testing.assert_close(*runs)


def reduce_scatter_for_sharded_optimizers():
    size, rank = dist.get_world_size(), dist.get_rank()
    n = 30 * size
    comm = st.communicator_of()
    scatter = st.ReduceScatter(comm, density=0.2)
    residuals = [np.zeros(n, np.float32)] * size
    for step in range(3):
        accs = [values_of(r, n, seed=step) + residuals[r] for r in range(size)]
        lists = [topk(acc, n // 5) for acc in accs]
        residuals = [acc - sent for acc, sent in zip(accs, lists)]
        output = scatter.allocate((30,), dtype=torch.float32, device=torch.device("cpu"))
        scatter(output, torch.from_numpy(values_of(rank, n, seed=step)), op=dist.ReduceOp.SUM)
        np.testing.assert_array_equal(output.numpy(), sum(lists)[30 * rank : 30 * rank + 30])
    raises(ValueError, "parts of", lambda: scatter(torch.zeros(7), torch.zeros(n)))
    comm.destroy()


def communicators_of_groups():
    size, rank = dist.get_world_size(), dist.get_rank()
    group = dist.new_group([1, 2])
    if rank in (1, 2):
        comm = st.communicator_of(group)
        assert (comm.rank, comm.size) == (rank - 1, 2)
        out = comm.sparse_allreduce(torch.full((4,), float(rank)), k=4)
        assert out.tolist() == [3.0] * 4 and isinstance(out, torch.Tensor)
        comm.destroy()
    box = [sc.unique_id() if rank == 0 else None]
    dist.broadcast_object_list(box)
    with sc.Communicator.init_rank(size, box[0], rank) as comm:
        assert comm.size == size
    raises(ValueError, "expected 128", lambda: sc.Communicator.init_rank(2, b"x", 0))

    def gather(mine):
        parts = [None] * size
        dist.all_gather_object(parts, mine)
        return parts

    with sc.Communicator.init_oob(size, rank, gather) as comm:
        assert comm.sparse_allreduce(np.ones(3, np.float32), k=3).tolist() == [size] * 3
    raises(sc.SystemError, "", lambda: sc.Communicator.init_oob(size, rank, lambda mine: 1 / 0))


def fsdp_takes_the_reduce_scatter():
    if torch.__version__.startswith("1."):
        return  # it has no FSDP2, and what it has cannot be imported by Python 3.11
    try:
        from torch.distributed.fsdp import FSDPModule, fully_shard
    except ImportError:
        return
    if not hasattr(FSDPModule, "set_custom_reduce_scatter"):
        return
    target = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    comm = st.communicator_of()
    model = torch.nn.Sequential(torch.nn.Linear(20, 40), torch.nn.Tanh(), torch.nn.Linear(40, 5))
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    scatters = []
    for module in model.modules():
        if isinstance(module, FSDPModule):
            scatters.append(st.ReduceScatter(comm, density=0.1))
            module.set_custom_reduce_scatter(scatters[-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    losses = []
    for step in range(60):
        x = torch.randn(16, 20, generator=torch.Generator().manual_seed(3 * step + dist.get_rank()))
        loss = torch.nn.functional.cross_entropy(model(x), (x @ target).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert comm.sequence >= 2 * 60
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:5]), losses
    comm.destroy()


CASES = [communicators_of_groups, embeddings_get_the_mean, contributions_may_be_empty,
         gossip_averages_and_trains, gossip_goes_on_from_a_saved_state,
         reduce_scatter_for_sharded_optimizers, fsdp_takes_the_reduce_scatter]

if __name__ == "__main__":
    run(only(sys.argv[1:], CASES))
