#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests perf/tune on rows of a simulated network. Computing takes no time there, so that the cost
# model is nearly exact, and Auto chooses the fastest algorithm. Its trials take up to twelve calls, with
# three algorithms.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)

# check RANKS-PER-NODE ALGORITHMS: measures two shapes and checks the rows of perf/tune.
check() {
  "$program" --transport simulated --ranks 8 --ranks-per-node "$1" --compute 0 --form sparse -b 4M -e 4M \
    -k 8,10000 -n 1 -w 13 --algo "$2" -J "$folder/rows.$1.json" > "$folder/table.txt"
  "$here/tune" "$folder/rows.$1.json" | tee "$folder/tune.txt"
  awk -v algorithms="$(tr , '\n' <<< "$2" | wc -l)" '
    $2 == "shapes:" { summary = $1 == 2 && $6 == "1.00" && $8 == "1.00"; next }
    NR > 1 && $5 > 0 { rows++; if ($7 < 0.6 || $7 > 1.6) bad = 1 }
    NF == 10 && NR > 1 { shapes++; if ($8 != $9 || $10 != "1.00") bad = 1 }
    END { exit bad || !summary || rows != 2 * algorithms || shapes != 2 }' "$folder/tune.txt"
}

check 1 auto,allgather,oktopk
check 2 auto-reordered,allgather,oktopk,hierarchical

# A second file is another network: its rows are not mixed with those of the first.
cp "$folder/rows.1.json" "$folder/other.json"
"$here/tune" "$folder/rows.1.json" "$folder/other.json" | grep '^4 shapes:'
