#!/bin/sh
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by run_fault.sh and netlab/run_netlab.sh. A test is tried with the first deadline and, if a rank
# complains about time, with the next one: on a busy machine a rank may get no CPU for as long as the first.

# shellcheck disable=SC2034  # the sourcing scripts use it
deadlines='1500 6000' # milliseconds

# complains_about_time FILE...: a verdict in one of them does.
complains_about_time() {
  grep -q 'FAIL: .*\(deadline\|early\|late\|long\|took\|no call failed\)' "$@"
}
