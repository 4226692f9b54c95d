#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# rank.sh PROGRAM [ARGUMENT...]
# Runs a rank of torch.distributed that mpirun or netlab has started: gives it the variables that
# torch reads. Rank 0 must be on the machine MASTER_ADDR (10.0.0.1, netlab's first node).
set -euo pipefail
export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE
export LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK
export MASTER_ADDR=${MASTER_ADDR:-10.0.0.1} MASTER_PORT=${MASTER_PORT:-29500}
# gloo must use the network on which the others can reach this rank.
network=$(ip -oneline -4 address show | awk '$4 ~ /^10\.0\.0\./ { print $2; exit }')
[ -z "$network" ] || export GLOO_SOCKET_IFNAME=$network SPARSECOLL_SOCKET_IFNAME="=$network"
exec "$@"
