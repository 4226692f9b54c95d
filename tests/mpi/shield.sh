#!/bin/sh
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# shield.sh PROGRAM ARGUMENT...
# Runs a rank so that the launcher does not see it die, and so that the signal by which MPICH's
# launcher tells the survivors of a death does not end them.
trap '' USR1
"$@"
true
