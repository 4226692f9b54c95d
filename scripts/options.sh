#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by scripts that have options.

# no_option WORD USAGE: says that there is no such option or word, with the one of the usage that was
# probably meant, and ends the script with 2.
no_option() {
  local nearest
  nearest=$(grep -oE -- '--?[a-zA-Z][a-z-]*' <<<"$2" | sort -u | awk -v given="${1%%=*}" '
    function least(a, b) { return a < b ? a : b }
    # Insertions, deletions, replacements and exchanges of neighbours that make b of a.
    function edits(a, b,   i, j, d) {
      for (i = 0; i <= length(a); ++i)
        for (j = 0; j <= length(b); ++j) {
          if (i * j == 0) {
            d[i, j] = i + j
            continue
          }
          d[i, j] = least(d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)), least(d[i - 1, j], d[i, j - 1]) + 1)
          if (i > 1 && j > 1 && substr(a, i - 1, 2) == substr(b, j, 1) substr(b, j - 1, 1))
            d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
        }
      return d[length(a), length(b)]
    }
    BEGIN { fewest = (length(given) > 5 ? int(length(given) / 3) : 1) + 1 }
    { if ((n = edits(given, $0)) < fewest) { fewest = n; nearest = $0 } }
    END { print nearest }')
  printf '%s: there is no option %s%s\n\n%s\n' "$(basename "$0")" "${1%%=*}" "${nearest:+; did you mean $nearest?}" "$2" >&2
  exit 2
}
