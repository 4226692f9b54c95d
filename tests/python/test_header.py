# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The module against the header of the C API: structs, enumerations, functions; its own texts."""

import ctypes
import inspect
import json
import os
import pathlib
import re
import subprocess
import unittest

import sparsecoll as sc
from sparsecoll import _library, _types
from support import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRUCTS = {
    "sparsecollConfig_t": _types.ConfigStruct, "sparsecollStats_t": _types.StatsStruct,
    "sparsecollSparse_t": _types.SparseStruct, "sparsecollTopology_t": _types.TopologyStruct,
    "sparsecollPushSumConfig_t": _types.PushSumConfigStruct,
}


def snake(name):
    """Returns a name of C in Python's style."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Header(Case):
    def test_the_structs(self):
        output = subprocess.run([os.environ["SPARSECOLL_LAYOUT"]], check=True, capture_output=True)
        layout = json.loads(output.stdout)
        self.assertEqual(set(layout), set(STRUCTS))
        for name, (size, fields) in layout.items():
            struct = STRUCTS[name]
            own = [[n, getattr(struct, n).offset, getattr(struct, n).size] for n, _ in struct._fields_]
            header = [[snake(n), *place] for n, place in fields.items()]
            # A newer header may have more fields: the library knows a struct by its size.
            self.assertEqual(own, header[: len(own)], name)
            self.assertLessEqual(ctypes.sizeof(struct), size)

    def header(self):
        text = (ROOT / "include/sparsecoll/sparsecoll.h").read_text()
        return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)

    def test_the_enumerations(self):
        for body, name in re.findall(r"typedef enum \{(.*?)\} sparsecoll(\w+)_t;", self.header(),
                                     re.DOTALL):
            numbers = {int(n) for n in re.findall(r"= (\d+)(?![x\d])", body)}
            self.assertEqual({int(member) for member in getattr(_types, name)}, numbers, name)

    def test_every_function_is_declared(self):
        declared = set(re.findall(r"^SPARSECOLL_API\s[^;(]*?(\w+)\s*\(", self.header(), re.MULTILINE))
        known = set(_library.PROTOTYPES) | set(_library.TEXTS)
        self.assertEqual(declared - known, set())

    def test_every_function_is_used(self):
        sources = (ROOT / "src/python").rglob("*.py")
        text = " ".join(path.read_text() for path in sources)
        for name in _library.PROTOTYPES:
            short = re.sub("^sparsecoll(Residual|PushSum)?", "", name)
            uses = text.count(f'"{name}"') + text.count(f'_call("{short}"')
            # Constructors of structs do what the initializers do.
            self.assertTrue(uses >= 2 or re.fullmatch(r"sparsecoll\w+(?<!Comm)Init", name), name)


class Texts(Case):
    def test_docstrings_and_annotations(self):
        for name in sc.__all__:
            thing = getattr(sc, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            self.assertTrue(thing.__doc__, name)
            members = vars(thing).items() if inspect.isclass(thing) else [(name, thing)]
            for member, value in members:
                function = getattr(value, "__func__", getattr(value, "fget", value))
                if member.startswith("_") or not inspect.isfunction(function):
                    continue
                with self.subTest(f"{name}.{member}"):
                    self.assertTrue(function.__doc__)
                    signature = inspect.signature(function)
                    self.assertIsNot(signature.return_annotation, inspect.Signature.empty)
                    for parameter in signature.parameters.values():
                        if parameter.name not in ("self", "cls"):
                            self.assertIsNot(parameter.annotation, inspect.Parameter.empty)


if __name__ == "__main__":
    unittest.main()
