#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""make_site.py ROOT FOLDER: makes the site of the documentation in FOLDER/html. Needs Doxygen and Sphinx.

The pages of the repository stay as they are. Copies of them in FOLDER/pages get a table of contents. What
they link becomes a page, too: a source with colours, a result as it is. A link to a folder becomes text. The
pages of the reference are made of what Doxygen reads in the headers. A warning is an error: a page that no
table of contents has, a link that leads nowhere.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".f90": "fortran", ".py": "python",
             ".sh": "bash", ".json": "json"}
CONTENTS = {
    "First steps": ["docs/five-minutes", "docs/replacing-allreduce", "docs/choosing", "docs/tuning", "docs/clusters",
                    "docs/packages",
                    "docs/examples/train_digits/README"],
    "Languages": ["docs/cpp", "docs/fortran", "docs/python", "docs/pytorch", "docs/examples/libtorch/README"],
    "Use": ["docs/semantics", "docs/training", "docs/frameworks", "docs/gossip", "docs/solvers", "docs/devices",
            "docs/starting", "docs/topology", "docs/environment", "docs/errors",
            "docs/messages"],
    "Reference": ["reference/c", "reference/cpp"],
    "Algorithms": ["docs/algorithms", *(f"docs/algorithms/{name}" for name in (
        "allgather", "oktopk", "oktopk-reuse", "topka2a", "hierarchical", "sharded", "dense", "gtopk",
        "reduce-scatter", "alltoall", "push-sum", "compressed-gossip", "wire-format"))],
    "Performance": ["docs/reading-results", "docs/performance", "perf/README", "docs/gpu"],
    "Change it": ["docs/architecture", "docs/adding-an-algorithm", "docs/adding-a-transport", "docs/testing"],
}


class Pages:
    """The copies of the repository's pages, and of all that they link."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.done = set()

    def add(self, path):
        """Lays out a page with what it links. `path` is relative to the root."""
        if path in self.done:
            return
        self.done.add(path)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            self.add_source(path, target)
            return
        text = (self.root / path).read_text(encoding="utf-8")
        blocks = FENCED.findall(text)
        parts = [self.linked(path, part) for part in FENCED.split(text)]
        text = "".join(part + block for part, block in zip(parts, [*blocks, ""]))
        if path == pathlib.Path("README.md"):
            text += "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
                            for caption, pages in CONTENTS.items())
        elif str(path.with_suffix("")) not in sum(CONTENTS.values(), []):
            text = f"---\norphan: true\n---\n{text}"
        target.write_text(text, encoding="utf-8")

    def add_source(self, path, target):
        shutil.copyfile(self.root / path, target)
        language = LANGUAGES.get(path.suffix, "text")
        page = target.with_name(f"{path.name}.md")
        page.write_text(f"---\norphan: true\n---\n# {path}\n\n```{{literalinclude}} {path.name}\n:language: {language}\n```\n")

    def linked(self, page, text):
        """Returns text whose links lead to the copies."""
        for image in IMAGE.findall(text):
            target = self.folder / page.parent / image
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / page.parent / image, target)

        def replacement(link):
            name, target, anchor = link[1], link[2], link[3] or ""
            if not target or re.match(r"\w+:", target):
                return link[0]
            path = pathlib.Path(os.path.relpath(self.root / page.parent / target, self.root))
            if (self.root / path).is_dir():
                return name
            self.add(path)
            return f"[{name}]({target}{'' if path.suffix == '.md' else '.md'}{anchor})"

        return LINK.sub(replacement, text)


def directive(name, argument, *options):
    return f"```{{{name}}} {argument}\n" + "".join(f":{option}\n" for option in options) + "```\n"


def write_reference(xml, folder):
    """Writes the pages of the reference: of C by the groups of the header, of C++ by its classes."""
    index = ElementTree.parse(xml / "index.xml").getroot()
    compounds = {kind: [c for c in index.findall("compound") if c.get("kind") == kind]
                 for kind in ("group", "struct", "class", "file")}
    folder.mkdir()
    groups = []
    for group in compounds["group"]:
        compound = ElementTree.parse(xml / f"{group.get('refid')}.xml").getroot().find("compounddef")
        lines = [int(node.get("line")) for node in compound.iter("location") if node.get("file").endswith("sparsecoll.h")]
        # The arguments tell functions of C from those of C++ with the same name.
        members = [(m.get("kind"), m.findtext("name"), m.findtext("argsstring") if m.get("kind") == "function" else "")
                   for m in compound.iter("memberdef")]
        groups.append((min(lines), group.findtext("name"), compound.findtext("title"), members, compound))
    names = []
    for _, name, title, members, compound in sorted(groups, key=lambda group: group[0]):
        names.append(name)
        parts = [f"# {title}\n"]
        if "".join(compound.find("detaileddescription").itertext()).strip():
            parts.append(directive("doxygengroup", name, "desc-only:"))
        parts += [f"## {member}\n\n" + directive(f"doxygen{kind}", member + arguments)
                  for kind, member, arguments in members]
        (folder / f"{name}.md").write_text("\n".join(parts))
    header = next(c for c in compounds["file"] if c.findtext("name") == "sparsecoll.h")
    parts = [directive("doxygen" + m.get("kind"), m.findtext("name")) for m in header.findall("member")
             if m.get("kind") in ("typedef", "enum", "define") and not m.get("refid").startswith("group")
             and not m.findtext("name").startswith(("@", "SPARSECOLL_API"))]
    parts += [directive("doxygenstruct", s.findtext("name"), "members:") for s in compounds["struct"]
              if "::" not in s.findtext("name")]
    (folder / "types.md").write_text("# Types and macros\n\n" + "\n".join(parts))
    (folder / "c.md").write_text(
        "# The C API\n\n" + directive("doxygenfile", "sparsecoll.h", "sections: briefdescription detaileddescription")
        + "\n```{toctree}\n\n" + "\n".join([*names, "types"]) + "\n```\n")
    classes = sorted(c.findtext("name") for c in compounds["class"] if c.findtext("name").startswith("sparsecoll::cxx"))
    (folder / "cpp.md").write_text(
        "# The C++ API\n\n" + "\n".join(f"## {name.split('::')[-1]}\n\n" + directive("doxygenclass", name, "members:")
                                       for name in classes))


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def main():
    root, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.rmtree(folder / "html", ignore_errors=True)
    pages.mkdir(parents=True)
    settings = {"PROJECT_VERSION": "", "PROJECT_DESCRIPTION": "", "PROJECT_SOURCE_DIR": str(root),
                "folder": str(folder / "reference"), "on_warning": "NO"}
    doxyfile = (root / "docs/Doxyfile.in").read_text()
    for name, value in settings.items():
        doxyfile = doxyfile.replace(f"@{name}@", value)
    (folder / "Doxyfile").write_text(doxyfile + "GENERATE_HTML = NO\n")
    run("doxygen", folder / "Doxyfile")
    write_reference(folder / "reference/xml", pages / "reference")
    copies = Pages(root, pages)
    for name in ["README", *sum(CONTENTS.values(), [])]:
        if not name.startswith("reference/"):
            copies.add(pathlib.Path(f"{name}.md"))
    shutil.copyfile(HERE / "conf.py", pages / "conf.py")
    (pages / "static").mkdir()
    shutil.copyfile(HERE / "site.css", pages / "static/site.css")
    for page in root.glob("docs/**/*.md"):
        if page.relative_to(root) not in copies.done:
            sys.exit(f"{page.relative_to(root)}: no table of contents in {pathlib.Path(__file__).name} has this page")
    run(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-d", folder / "doctrees", pages, folder / "html")
    # The name that servers and browsers look for.
    (folder / "html/index.html").write_text('<meta http-equiv="refresh" content="0; url=README.html">\n')
    print(f"{folder / 'html/index.html'}")


if __name__ == "__main__":
    main()
