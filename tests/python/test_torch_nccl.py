# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""sparsecoll.torch over NCCL without a GPU, on the stand-in for NCCL and the emulated devices."""

import math
import types
import unittest
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist

import sparsecoll as sc
import sparsecoll.torch as st
from emulated import new_stream
from emulated_torch import RANKS, Group, Nccl, OverNccl, Tensor, here, on_groups, tensor
from sparsecoll._buffers import Buffer, record_use
from sparsecoll.torch import _communicators, _ddp
from support import allreduce_oracle, topk, values_of

NEW_TORCH_WITH_NCCL = (dist.is_nccl_available()
                       and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15))


class Choice(OverNccl):
    """Which communicator communicator_of() makes."""

    def chosen(self, backend, device=None):
        """Returns "nccl" or "id", and the configuration."""
        made = []

        def init_nccl(_nccl, config, owner):
            made.append(("nccl", config))
            return types.SimpleNamespace(rank=owner.rank)

        def init_rank(_size, _id, _rank, config):
            made.append(("id", config))

        with mock.patch.object(sc.Communicator, "init_nccl", init_nccl), \
                mock.patch.object(sc.Communicator, "init_rank", init_rank), \
                mock.patch.object(_communicators, "unique_id", lambda: b"id"), \
                mock.patch.object(dist, "broadcast_object_list", lambda *_, **__: None):
            st.communicator_of(Group(0, 4, backend), sc.Config(timeout_ms=7), device)
        return made[0]

    def test_nccl_where_torch_tells_the_communicator(self):
        cases = [(Nccl(1), None, "nccl"), (Nccl(1), "cuda:0", "nccl"), (Nccl(1), "cpu", "id"),
                 (object(), None, "id"), (None, None, "id")]
        for backend, device, expected in cases:
            with self.subTest(backend=backend, device=device):
                how, config = self.chosen(backend, device)
                self.assertEqual((how, config.expected_ranks, config.timeout_ms), (expected, 4, 7))

    @unittest.skipUnless(NEW_TORCH_WITH_NCCL, "torch older than 2.15, or without NCCL")
    def test_backends_of_torch_tell_the_communicator(self):
        for name in ("ProcessGroupNCCL", "ProcessGroupNCCL2", "ProcessGroupNCCLLazy"):
            kind = getattr(torch._C._distributed_c10d, name)
            self.assertIn("-> int", kind._comm_ptr.__doc__)

    def test_a_wrapped_backend(self):
        wrapper = types.SimpleNamespace(wrapped_pg=Nccl(1))
        found = _communicators.nccl_backend_of(Group(0, 1, wrapper), None)
        self.assertIs(found, wrapper.wrapped_pg)

    def test_no_gpu_and_old_torch(self):
        self.assertIsNone(_communicators.nccl_backend_of(object(), None))
        with mock.patch.object(torch.cuda, "is_available", lambda: False):
            self.assertEqual(self.chosen(Nccl(1))[0], "id")

    def test_the_configuration_of_the_caller_stays(self):
        config = sc.Config()
        on_groups(lambda group: st.communicator_of(group, config).destroy())
        self.assertEqual(config.expected_ranks, 0)

    def test_a_process_outside_of_the_group(self):
        with self.assertRaisesRegex(ValueError, "not in the group"):
            st.communicator_of(Group(-1, -1, None))


class Mismatch(OverNccl):
    def test_another_number_of_ranks(self):
        def body(group):
            group.size = 5
            with self.assertRaisesRegex(sc.InvalidUsage, "expected 5 ranks, got 3"):
                st.communicator_of(group)

        on_groups(body)

    def test_another_rank(self):
        def body(group):
            group.rank = 2 - group.rank
            if group.rank == 1:
                comm = st.communicator_of(group, sc.Config(timeout_ms=3000))
                comm.abort()
                comm.destroy()
                return
            with self.assertRaisesRegex(ValueError, f"rank {group.rank} of the group has an "
                                        f"ncclComm_t in which it is rank {2 - group.rank}"):
                st.communicator_of(group, sc.Config(timeout_ms=3000))

        on_groups(body)

    def test_no_communicator_on_this_device(self):
        def body(group):
            with self.assertRaisesRegex(RuntimeError, "cuda:9: expected an address, got 0"):
                st.communicator_of(group, device="cuda:9")

        on_groups(body)


class Bucket:
    """A GradBucket."""

    def __init__(self, parameters, values):
        self.all, self.flat = parameters, tensor(values)

    def buffer(self):
        return self.flat

    def parameters(self):
        return self.all

    def gradients(self):
        first = 0
        for parameter in self.all:
            yield self.flat[first : first + parameter.numel()]
            first += parameter.numel()

    def is_last(self):
        return True


class Hook(OverNccl):
    """DDPHook with buckets on the emulated device."""

    SIZES, DENSITY = (200, 30), 0.1

    def means(self, gradients, residuals):
        """Returns the definition's mean of gradients; residuals: by parameter, of all ranks."""
        parts, first = [], 0
        for i, size in enumerate(self.SIZES):
            grads = [g[first : first + size] for g in gradients]
            k = math.ceil(size * self.DENSITY) if size >= 50 else size
            total, residuals[i] = allreduce_oracle([g + r for g, r in zip(grads, residuals[i])], k)
            parts.append(total / np.float32(len(grads)))
            first += size
        return np.concatenate(parts)

    def run_steps(self, group, scaler=None, bad=()):
        """Compares three steps of the hook with the definition. Those in `bad` change nothing but
        their bucket."""
        hook = st.DDPHook(self.DENSITY, dense_below=50, group=group, scaler=scaler)
        self.assertTrue(hook.comm.over_nccl)
        parameters = [torch.nn.Parameter(torch.zeros(size)) for size in self.SIZES]
        bucket = Bucket(parameters, np.zeros(sum(self.SIZES), np.float32))
        residuals = [[np.zeros(size, np.float32)] * group.size for size in self.SIZES]
        for here.step in range(3):
            gradients = [values_of(r, sum(self.SIZES), seed=here.step) for r in range(group.size)]
            bucket.flat.array.put(gradients[group.rank])
            result = hook(hook.state, bucket).wait()
            self.assertIs(result, bucket.flat)
            if here.step in bad:
                self.assertTrue(np.isnan(result.read()).all())
            else:
                np.testing.assert_array_equal(result.read(), self.means(gradients, residuals))
        for i, parameter in enumerate(parameters):
            np.testing.assert_array_equal(hook._slots[parameter].residual.read(),
                                          residuals[i][group.rank])
        skipped = hook.stats().skipped
        hook.destroy()
        return skipped

    def test_gradients_are_those_of_the_definition(self):
        self.assertEqual(on_groups(self.run_steps), [0] * RANKS)

    def test_a_step_with_an_overflow_is_left_out(self):
        scaler = types.SimpleNamespace(get_scale=lambda: 1.0)
        with mock.patch.object(_ddp, "finite_on_all_ranks", lambda _buffer, _group: here.step != 1):
            skipped = on_groups(lambda group: self.run_steps(group, scaler, bad=[1]))
        self.assertEqual(skipped, [len(self.SIZES)] * RANKS)

    def test_an_error_is_raised(self):
        def body(group):
            hook = st.DDPHook(self.DENSITY, dense_below=0, group=group)
            hook.density = 0.5 if group.rank == 1 else self.DENSITY
            bucket = Bucket([torch.nn.Parameter(torch.zeros(100))], np.ones(100, np.float32))
            with self.assertRaisesRegex(sc.InvalidUsage, "ranks disagree"):
                hook(hook.state, bucket)
            hook.destroy()

        on_groups(body)


class Others(OverNccl):
    def test_reduce_scatter(self):
        count, k = 60, 6

        def body(group):
            comm = st.communicator_of(group)
            scatter = st.ReduceScatter(comm, density=k / count)
            out = tensor(np.zeros(count // RANKS, np.float32))
            scatter(out, tensor(values_of(group.rank, count)))
            comm.destroy()
            return out.read()

        expected = sum(topk(values_of(rank, count), k) for rank in range(RANKS))
        np.testing.assert_array_equal(np.concatenate(on_groups(body)), expected)

    def test_sparse_outputs_are_on_the_device(self):
        def body(group):
            comm = st.communicator_of(group)
            mine = comm.topk(tensor(values_of(group.rank, 50)), 5)
            self.assertIsInstance(mine.values, Tensor)
            total = comm.sparse_allreducev(mine)
            dense = comm.scatter(total, tensor(np.zeros(50, np.float32)))
            comm.destroy()
            return dense.read()

        expected = sum(topk(values_of(rank, 50), 5) for rank in range(RANKS))
        for got in on_groups(body):
            np.testing.assert_array_equal(got, expected)

    def test_a_sparse_vector_is_used_on_the_current_stream(self):
        def body(group):
            comm = st.communicator_of(group)
            mine = comm.topk(tensor(values_of(group.rank, 50)), 5)
            comm.synchronize()
            here.stream = new_stream()
            total = comm.gtopk_allreducev(mine, k=15)  # does not wait
            total.values.array.stream = here.stream
            got = total.values.read()
            comm.destroy()
            return got

        sums = sum(topk(values_of(rank, 50), 5) for rank in range(RANKS))
        for got in on_groups(body):
            np.testing.assert_array_equal(got, sums[sums != 0])

    def test_memory_that_another_stream_uses(self):
        each = tensor(np.zeros(1, np.float32))
        buffer = Buffer(each.data_ptr(), 1, "float32", 5, each)
        for stream, recorded in ((5, []), (None, []), (9, [9]), (0, [9, 0])):
            record_use(buffer, stream)
            self.assertEqual(each.recorded, recorded)


if __name__ == "__main__":
    unittest.main()
