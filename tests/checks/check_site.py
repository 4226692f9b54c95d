#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""check_site.py ROOT: makes the site of the documentation and checks it.

Sphinx finds pages without a place in the table of contents, and links of pages that lead nowhere. This script
also checks
  - that links between the HTML pages lead to a file and to an anchor in it;
  - that a page loads nothing from elsewhere;
  - that the search knows the functions.
Without Sphinx and its extensions the test is skipped.
"""

import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

MODULES = "import sphinx, myst_parser, breathe, furo"
SKIPPED = 77


def interpreter():
    """Returns a Python that has Sphinx: this one, or the system's, for which packages install it."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", MODULES], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


class Page(html.parser.HTMLParser):
    """The links of a page, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(attributes["href"])
        elif attributes.get("src"):
            self.loaded.append(attributes["src"])


def faults_of(folder):
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(folder)
        for link in page.loaded:
            if re.match(r"\w+:|//", link) and not link.startswith("data:"):
                yield f"{name}: loads {link}"
        for link in page.links + page.loaded:
            if re.match(r"\w+:", link):
                continue
            target, _, anchor = link.partition("#")
            linked = path if not target else (path.parent / urllib.parse.unquote(target.split("?")[0])).resolve()
            if not linked.exists():
                yield f"{name}: no such file: {link}"
            elif linked in pages and urllib.parse.unquote(anchor) not in pages[linked].anchors:
                yield f"{name}: no such anchor: {link}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    python = interpreter()
    if python is None:
        print("SKIPPED: the site: no Python with Sphinx, myst-parser, breathe and furo (scripts/make-site.sh)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([python, "-B", root / "scripts/site/make_site.py", root, folder],
                              capture_output=True, text=True, timeout=600, check=False)
        if made.returncode != 0:
            print(made.stdout + made.stderr)
            return 1
        site = pathlib.Path(folder).resolve() / "html"
        faults = sorted(set(faults_of(site)))
        index = (site / "searchindex.js").read_text(encoding="utf-8")
        functions = (root / "tests/checks/exported_symbols.txt").read_text().split()[::2]
        faults += [f"the search does not know {name}" for name in functions if name.lower() not in index.lower()]
        print(*faults, f"{len(list(site.rglob('*.html')))} pages, {len(faults)} faults", sep="\n")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
