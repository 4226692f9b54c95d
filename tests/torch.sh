#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
usage="usage: tests/torch.sh [LIBRARY]
Runs the tests of sparsecoll.torch with the newest torch of PyPI, which it installs in build/torch (6 GB).
LIBRARY is a libsparsecoll.so with UCX; by default that of build/host. Prints the version of torch. Tests over
NCCL's stand-in run if build/host has libsparsecoll_emulated.so."
set -euo pipefail
cd "$(dirname "$0")/.."

library=${1:-build/host/src/libsparsecoll.so}
case $library in -*) echo "$usage" >&2 && exit 2 ;; esac
[ -e "$library" ] || { echo "no $library: cmake --preset host && cmake --build --preset host" >&2 && exit 2; }

python=build/torch/bin/python3
[ -x "$python" ] || python3 -m venv build/torch
"$python" -c 'import numpy, torch' 2>/dev/null || "$python" -m pip install --quiet numpy torch

SPARSECOLL_LIBRARY=$(realpath "$library")
export SPARSECOLL_LIBRARY PYTHONPATH=src/python:tests/python PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1 UCX_LOG_LEVEL=fatal UCX_MEM_EVENTS=n SPARSECOLL_RANKS_PER_NODE=2
"$python" -c 'import numpy, torch; print("torch", torch.__version__, "numpy", numpy.__version__)'
"$python" tests/python/test_buffers.py
emulated=build/host/tests/python/libsparsecoll_emulated.so
if [ -e "$emulated" ]; then
  SPARSECOLL_LIBRARY=$(realpath "$emulated") "$python" tests/python/test_torch_nccl.py
fi
for script in torch_ddp torch_ddp_state torch_others; do
  "$python" -m sparsecoll.torch.launch -n 3 "tests/python/$script.py"
done
"$python" -m sparsecoll.torch.launch -n 2 docs/examples/python/train_text.py --mode adam --steps 30 \
  --width 32 --dense-below 500
