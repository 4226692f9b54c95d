# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of sparsecoll.torch share: ranks that are processes, run by sparsecoll.torch.launch."""

import faulthandler
import sys

import numpy as np
import torch
import torch.distributed as dist

SECONDS = 500


def run(cases):
    """Runs functions without arguments on all ranks, in order. Rank 0 prints their names."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for case in cases:
        torch.manual_seed(1)
        case()
        dist.barrier()
        if dist.get_rank() == 0:
            print("passed:", case.__name__, flush=True)
    dist.destroy_process_group()


def all_ranks(array):
    """Returns the arrays of all ranks."""
    got = [None] * dist.get_world_size()
    dist.all_gather_object(got, np.asarray(array))
    return got


def same_everywhere(tensor):
    """Raises unless all ranks have the same bits."""
    for other in all_ranks(tensor.detach().numpy()):
        np.testing.assert_array_equal(other, tensor.detach().numpy())


def raises(kind, text, action):
    """Raises unless an action raises an exception with a text."""
    try:
        action()
    except kind as error:
        assert text in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__} with {text!r}")


def only(names, cases):
    """Returns the cases that the command line names, or all."""
    chosen = [case for case in cases if not names or case.__name__ in names]
    if not chosen:
        sys.exit(f"no such case: {names}")
    return chosen
