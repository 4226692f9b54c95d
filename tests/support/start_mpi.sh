#!/bin/sh
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# start_mpi.sh MPIRUN ARGUMENT...
# Becomes this mpirun of Open MPI, with a folder for its files that no other one has at that time, and
# allowed to be root. Otherwise all mpiruns of a user have one folder on a machine, which the last to end
# removes. If another starts just then, it may see the folder exist and then not, and Open MPI 4.1 ends
# it: "A call to mkdir was unable to create the desired directory ... File exists". The folders stay,
# empty.
set -eu

base=${TMPDIR:-/tmp}/sparsecoll.$(id -u)
number=0
while :; do
  folder=$base/$number
  mkdir -p "$folder"
  # mpirun inherits the descriptor, but its ranks do not: the folder is locked until mpirun ends.
  exec 9<"$folder"
  status=0
  flock -n 9 || status=$?
  case $status in
    0) break ;;
    1) number=$((number + 1)) ;;
    *) echo "start_mpi.sh: flock cannot lock $folder" >&2 && exit 1 ;;
  esac
done
export OMPI_MCA_orte_tmpdir_base="$folder" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec "$@"
