#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""functions.py XML VERSION FOLDER: writes the manual pages of the C API.

XML is what Doxygen writes about the headers. FOLDER gets man3/NAME.3 for every function and type, and
man7/sparsecoll.7 with what holds for all of them. Doxygen's own pages have all functions of a header in
one, which `man FUNCTION` shows from its beginning.
"""

import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

import roff

HEADERS = {"sparsecoll/sparsecoll.h": "-lsparsecoll", "sparsecoll/sparsecoll_mpi.h": "-lsparsecoll_mpi -lsparsecoll"}
WIDTH = 78  # of a line of code


def plain(node):
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


class Reference:
    """What Doxygen knows of the C headers."""

    def __init__(self, folder):
        self.functions, self.types, self.groups, self.names = {}, {}, [], {}
        self.file = None
        for path in sorted(folder.glob("*.xml")):
            compound = ElementTree.parse(path).getroot().find("compounddef")
            if compound is not None:
                self.add(compound)
        if not self.functions:
            raise SystemExit(f"{folder}: no functions")
        for name, node in (self.functions | self.types).items():
            self.names[node.get("id")] = name
        self.groups.sort(key=lambda group: min(self.line(self.functions[name]) for name in group[1]))

    @staticmethod
    def header(node):
        location = node.find("location")
        return location.get("file").removeprefix("include/") if location is not None else ""

    @staticmethod
    def line(node):
        return int(node.find("location").get("line"))

    def add(self, compound):
        if compound.get("kind") == "struct" and self.header(compound) in HEADERS:
            self.types[compound.findtext("compoundname")] = compound
        if compound.get("kind") == "file" and self.header(compound) == "sparsecoll/sparsecoll.h":
            self.file = compound
        members = [m for m in compound.iter("memberdef") if self.header(m) in HEADERS]
        functions = [m for m in members if m.get("kind") == "function"]
        self.functions |= {m.findtext("name"): m for m in functions}
        for member in members:
            name = member.findtext("name")
            if member.get("kind") in ("enum", "typedef") and re.match(r"\w", name):
                self.types[name] = member
        if compound.get("kind") == "group" and functions:
            self.groups.append((compound, [m.findtext("name") for m in sorted(functions, key=self.line)]))


class Writer:
    """Turns descriptions into lines of roff, and collects the pages that they mention."""

    def __init__(self, reference, name):
        self.reference, self.name = reference, name
        self.mentioned = set()

    def page_of(self, node):
        return self.reference.names.get(node.get("refid"))

    def mention(self, node):
        for ref in node.iter("ref"):
            if self.page_of(ref):
                self.mentioned.add(self.page_of(ref))

    def inline(self, node):
        """Returns the text of a paragraph up to its blocks."""
        if node.tag == "ref":
            page = self.page_of(node)
            text = plain(node).removesuffix("()")
            return roff.bold(text) + ("(3)" if page and page != self.name else "")
        if node.tag in ("computeroutput", "emphasis"):
            return roff.italic(plain(node))
        if node.tag == "bold":
            return roff.bold(plain(node))
        if node.tag == "ndash":
            return r"\(en"
        raise SystemExit(f"{self.name}: a description has <{node.tag}>, which no manual page can show yet")

    def paragraph(self, node, blocks=True):
        """Returns the lines of a <para> without its parameters and results, which are sections."""
        lines, text = [], roff.escape(node.text or "")

        def flush():
            nonlocal text
            if text.strip():
                lines.extend([".PP", *roff.lines_of(text)])
            text = ""

        for child in node:
            if child.tag == "itemizedlist":
                flush()
                for item in child.findall("listitem"):
                    lines += [r".IP \(bu 2", *self.paragraphs(item)[1:]]
            elif child.tag in ("parameterlist", "simplesect"):
                flush()
            else:
                text += self.inline(child)
            text += roff.escape(child.tail or "")
        flush()
        return lines

    def paragraphs(self, node):
        lines = []
        for child in node if node is not None else ():
            lines += self.paragraph(child)
        return lines

    def summary(self, *nodes):
        """Returns the first sentence, as the line of NAME has it, and the other lines of the description."""
        lines = [line for node in nodes for line in self.paragraphs(node)]
        text = lines[1] if len(lines) > 1 else ""
        first = re.split(r"(?<=\.)\s", text)[0]
        rest = [line for line in [".PP", text.removeprefix(first).strip(), *lines[2:]] if line]
        if rest[:2] in ([".PP"], [".PP", ".PP"]):
            rest = rest[1:]
        first = re.sub(r"\\f[BIP]", "", first.rstrip("."))  # plain, as tools list it
        return (first if first[1:2].isupper() else first[:1].lower() + first[1:]), rest

    def parameters(self, node):
        lines = []
        for item in node.iter("parameteritem"):
            names = ", ".join(roff.italic(plain(name)) for name in item.iter("parametername"))
            lines += [".TP", names, *self.paragraphs(item.find("parameterdescription"))[1:]]
        return lines

    def results(self, node):
        lines = []
        for section in node.iter("simplesect"):
            if section.get("kind") == "return":
                lines += self.paragraphs(section)
        return lines

    def see_also(self):
        pages = [f".BR {roff.literal(name)} (3)" for name in sorted(self.mentioned - {self.name}, key=str.lower)]
        return [line + "," for line in pages] + [".BR sparsecoll (7)"]


def prototype(start, parameters, end):
    """Returns the lines of a declaration, with the names of its parameters in italics."""
    lines, line, width = [], roff.bold(start), len(start)
    for position, (kind, name, array) in enumerate(parameters):
        last = position == len(parameters) - 1
        space = " " if name else ""
        after = array + (end if last else ",")
        length = len(kind + space + name + after)
        if width + length + 1 > WIDTH and position > 0:
            lines.append(line)
            line, width = "    ", 4
        elif position > 0:
            line, width = line + " ", width + 1
        line += roff.bold(kind + space) + (roff.italic(name) if name else "") + roff.bold(after)
        width += length
    return [*lines, line if parameters else line + roff.bold(end)]


def parameters_of(node):
    return [(plain(p.find("type")).replace(" *", "*"), p.findtext("declname") or "", p.findtext("array") or "")
            for p in node.findall("param")]


def code_of(kind, name, after):
    """Returns the declaration of a field or a type; `after` has the brackets of an array or of a function."""
    space = "" if kind.endswith("(*") else " "
    return re.sub(r" (\*+)(?=\w)", r"\1 ", kind.replace(" *", "*") + space + name + (after or "") + ";")


def wrapped(text):
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def include(header):
    return [".nf", roff.bold(f"#include <{header}>"), ".fi", ".PP"]


def page_of_function(reference, name, version):
    node, writer = reference.functions[name], Writer(reference, name)
    brief, detailed = node.find("briefdescription"), node.find("detaileddescription")
    summary, description = writer.summary(brief, detailed)
    if not description:  # what holds for the whole group
        description = next((writer.paragraphs(group.find("detaileddescription"))
                            for group, names in reference.groups if name in names), [])
    result = plain(node.find("type")).replace(" *", "*")
    header = reference.header(node)
    writer.mention(node)
    returned = writer.results(detailed)
    if result == "sparsecollResult_t":
        returned = ["sparsecollSuccess, or in case of an error:", *returned]
    synopsis = [*include(header), ".nf", *prototype(f"{result} {name}(", parameters_of(node), ");"), ".fi", ".PP",
                f"Link with {roff.italic(HEADERS[header])}."]
    return roff.page(name, 3, version, [
        ("NAME", [rf"{name} \- {summary}"]), ("SYNOPSIS", synopsis), ("DESCRIPTION", description),
        ("PARAMETERS", writer.parameters(detailed)), ("RETURN VALUE", returned), ("SEE ALSO", writer.see_also())])


def members_of(writer, node):
    """Returns the declaration of a struct, an enumeration or another type, and what its members mean."""
    name, lines = writer.name, []
    if node.get("kind") == "typedef":
        text = code_of("typedef " + plain(node.find("type")), name, node.findtext("argsstring"))
        return [roff.literal(line) for line in wrapped(text)], writer.parameters(node)
    if node.get("kind") == "enum":
        for value in node.findall("enumvalue"):
            text = f"{value.findtext('name')} {value.findtext('initializer')}"
            lines += [".TP", roff.bold(text), *(writer.paragraphs(value.find("detaileddescription"))[1:])]
        return [roff.literal(f"typedef enum {{ ... }} {name};")], lines
    code = ["typedef struct {"]
    for field in node.iter("memberdef"):
        text = code_of(plain(field.find("type")), field.findtext("name"), field.findtext("argsstring"))
        code += [f"  {line}" for line in wrapped(text)]
        lines += [".TP", roff.bold(field.findtext("name")), *writer.paragraphs(field.find("detaileddescription"))[1:]]
    return [roff.literal(line) for line in [*code, f"}} {name};"]], lines


def page_of_type(reference, name, version):
    node, writer = reference.types[name], Writer(reference, name)
    summary, description = writer.summary(node.find("briefdescription"), node.find("detaileddescription"))
    declaration, members = members_of(writer, node)
    writer.mention(node)
    heading = {"enum": "VALUES", "typedef": "PARAMETERS"}.get(node.get("kind"), "FIELDS")
    users = [user for user, function in reference.functions.items()
             if any(reference.names.get(ref.get("refid")) == name for p in function.findall("param") for ref in p.iter("ref"))]
    if len(users) < 20:  # others are in nearly every call
        writer.mentioned.update(users)
    return roff.page(name, 3, version, [
        ("NAME", [rf"{name} \- {summary}"]), ("SYNOPSIS", [*include(reference.header(node)), ".nf", *declaration, ".fi"]),
        ("DESCRIPTION", description), (heading, members), ("SEE ALSO", writer.see_also())])


def overview(reference, version):
    """Returns the page of the library: the description of the header and of its groups."""
    writer = Writer(reference, "sparsecoll")
    summary, _ = writer.summary(reference.file.find("briefdescription"))
    description = []
    for line in writer.paragraphs(reference.file.find("detaileddescription")):
        # A paragraph that is no sentence is the heading of the list behind it.
        heading = description[-1:] == [".PP"] and line[-1] not in ".:"
        description[len(description) - heading:] = [f".SS {line}"] if heading else [line]
    functions = []
    for group, names in reference.groups:
        functions += [f".SS {roff.escape(group.findtext('title'))}", *writer.paragraphs(group.find("detaileddescription"))[1:]]
        for name in names:
            line, _ = Writer(reference, name).summary(reference.functions[name].find("briefdescription"))
            functions += [".TP", rf"{roff.bold(name)}(3)", *roff.lines_of(line)]
    types = []
    for name, node in sorted(reference.types.items(), key=lambda pair: reference.line(pair[1])):
        line, _ = Writer(reference, name).summary(node.find("briefdescription"), node.find("detaileddescription"))
        types += [".TP", rf"{roff.bold(name)}(3)", *roff.lines_of(line)]
    return roff.page("sparsecoll", 7, version, [
        ("NAME", [rf"sparsecoll \- {summary}"]), ("SYNOPSIS", include("sparsecoll/sparsecoll.h")[:-1]),
        ("DESCRIPTION", description), ("FUNCTIONS", functions), ("TYPES", types),
        ("SEE ALSO", [".BR sparsecoll\\-info (1)"])])


def main():
    source, version, folder = sys.argv[1:]
    reference = Reference(pathlib.Path(source))
    pages = {f"man3/{name}.3": page_of_function(reference, name, version) for name in reference.functions}
    pages |= {f"man3/{name}.3": page_of_type(reference, name, version) for name in reference.types}
    pages["man7/sparsecoll.7"] = overview(reference, version)
    for name, text in pages.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages")


if __name__ == "__main__":
    main()
