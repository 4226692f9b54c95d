# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the messages of a C++ file. A message is its literal words, with HOLE for each value between them.
message_makers.py lists what makes messages."""

import ast
import collections
import re

from message_makers import CODES, EXCEPTIONS, FORWARDED, HELPERS, HOLE, MAKERS, NO_MESSAGES, PARTS, VALUES

Message = collections.namedtuple("Message", "path line text")

TOKEN = re.compile(r"""\s+ | //[^\n]* | /\*.*?\*/ | ^[ ]*\#(?:\\\n|[^\n])* | R"\(.*?\)" | "(?:[^"\\\n]|\\.)*"
                     | '(?:[^'\\\n]|\\.)+' | [A-Za-z_]\w* | \d[\w.']* | -> | :: | .""",
                   re.DOTALL | re.MULTILINE | re.VERBOSE)
Token = collections.namedtuple("Token", "line text at")
CONSTANT = re.compile(r'const char\* ?(?:const )?(\w+) =\s*"((?:[^"\\\n]|\\.)*)";')
PRINTF = re.compile(r"%[-+ 0#]*[\d*]*(?:\.[\d*]+)?(?:hh?|ll?|z)?[a-zA-Z]")
NAME = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Za-z]{2,}")


def is_literal(token):
    return token.text[0] == '"' or token.text.startswith('R"')


def value_of(token):
    if token.text[0] == "R":
        return token.text[3:-2]
    return ast.literal_eval(token.text)


def split(tokens, separator):
    """Splits tokens at a separator outside of brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def is_declaration(arguments):
    """Returns whether these are parameters: a type and a name, not a value."""
    *kind, name = [token.text for token in arguments[0]] if arguments else [""]
    return bool(kind) and bool(NAME.fullmatch(name)) and (kind[-1] in "*&" or bool(NAME.fullmatch(kind[-1])))


def whole(part):
    """Returns the message that the words of a text() are part of."""
    for begin, pattern in PARTS.items():
        if part.startswith(begin.replace("...", HOLE)):
            return pattern.replace("...", HOLE).replace("{}", part)
    return part


class Undecided(Exception):
    """A condition whose value is not chosen."""


class Source:
    """The tokens of a C++ file. Collects its messages and faults."""

    def __init__(self, path, text):
        self.path, self.tokens, self.messages, self.faults = path, [], [], []
        line = 1
        for match in TOKEN.finditer(text):
            if not (match[0].isspace() or match[0].startswith(("//", "/*")) or match[0].lstrip(" ").startswith("#")):
                self.tokens.append(Token(line, match[0], len(self.tokens)))
            line += match[0].count("\n")
        self.constants = [(text.count("\n", 0, found.start()), found[1], found[2]) for found in CONSTANT.finditer(text)]
        self.used = set()  # the text() calls that are part of a message
        self.choices = {}  # the values of conditions

    def list_at(self, begin):
        """Returns the arguments from `begin` to the bracket that ends their list."""
        depth = 0
        for end in range(begin, len(self.tokens)):
            depth += (self.tokens[end].text in "([{") - (self.tokens[end].text in ")]}")
            if depth < 0:
                return [part for part in split(self.tokens[begin:end], ",") if part]
        return []

    def words(self, tokens):
        """Returns the string of an expression. Raises Undecided at a choice that self.choices does not have."""
        if all(is_literal(token) for token in tokens):
            return "".join(value_of(token) for token in tokens)
        first = tokens[0].text
        if len(tokens) == 1:
            before = [value for line, name, value in self.constants if name == first and line < tokens[0].line]
            return before[-1] if before else HOLE
        condition, *others = split(tokens, "?")
        if others:
            return self.chosen("".join(token.text for token in condition), tokens[len(condition) + 1:])
        terms = split(tokens, "+")
        if len(terms) > 1:
            return self.joined(terms)
        if first == "text" and tokens[1].text == "(":
            self.used.add(tokens[0].at)
            return self.joined(self.list_at(tokens[1].at + 1))
        call = "".join(token.text for token in tokens)
        if call in VALUES:
            return VALUES[call]
        if [token.text for token in tokens[:4]] == ["std", "::", "string", "("]:
            return self.joined(self.list_at(tokens[3].at + 1))
        if first == "(" and tokens[-1].text == ")":
            return self.words(tokens[1:-1])
        return HOLE

    def chosen(self, condition, tokens):
        """Returns the string of `condition ? tokens`."""
        if condition not in self.choices:
            raise Undecided(condition)
        depth = 0
        for i, token in enumerate(tokens):
            depth += (token.text == "?") - (token.text == ":")
            if depth < 0:
                return self.words(tokens[:i] if self.choices[condition] else tokens[i + 1:])
        return HOLE

    def joined(self, arguments):
        return re.sub("\0+", HOLE, "".join(map(self.words, arguments)))

    def texts(self, make):
        """Returns the strings that make() returns with all choices of its conditions."""
        texts, open_choices = [], [{}]
        while open_choices:
            self.choices = open_choices.pop()
            try:
                texts.append(make())
            except Undecided as undecided:
                open_choices += [{**self.choices, undecided.args[0]: choice} for choice in (True, False)]
        return texts

    def keep(self, token, texts, least_words=1):
        for text in texts:
            if len(WORD.findall(text)) >= least_words:
                self.messages.append(Message(self.path, token.line, text))

    def add(self, token, arguments):
        """Adds the messages of some arguments, and a fault if there are no words, and it is not known why."""
        texts = self.texts(lambda: self.joined(arguments))
        self.keep(token, texts)
        if any(WORD.search(text) for text in texts) or not arguments:
            return
        values = " ".join("".join(token.text for token in part) for part in arguments)
        if ".what()" not in values and values not in FORWARDED.get(self.path, ()):
            self.faults.append(f"{self.path}:{token.line}: a message without words, which "
                               f"tests/checks/message_makers.py does not know: {values}")

    def add_helper(self, token, pattern, arguments):
        """Adds the messages of a helper's call, unless it passes on words that another place has."""
        fields = re.split(r"\{([-+\d]+)\}", pattern.replace("...", HOLE))

        def make():
            words = [self.joined(arguments if field == "+" else arguments[int(field):][:1]) for field in fields[1::2]]
            parts = [part for pair in zip(fields[::2], words + [""]) for part in pair]
            return re.sub("\0+", HOLE, "".join(parts)) if any(map(WORD.search, words)) else ""
        self.keep(token, self.texts(make))

    def visit(self, before, token, after):
        """Adds the messages that begin at a token."""
        name = token.text
        if name in CODES and before.text in "({," and after.text == ",":
            return self.add(token, self.list_at(token.at + 2))
        if name == "warn" and after.text == "," and self.tokens[token.at - 3].text in "({,":  # LogLevel::warn
            return self.add(token, self.list_at(token.at + 2))
        if after.text != "(":
            return None
        arguments = self.list_at(token.at + 2)
        if name in ("fprintf", "fputs"):
            stream, words = arguments[:2] if name == "fprintf" else (arguments[1], arguments[0])
            if stream[0].text == "stderr":
                self.keep(token, self.texts(lambda: PRINTF.sub(HOLE, self.words(words))), 3)
        elif name in EXCEPTIONS:
            self.add(token, arguments)
        elif name in MAKERS and before.text not in (".", "->"):
            if len(arguments) > 1 and arguments[0][0].text not in CODES and not is_declaration(arguments):
                self.add(token, arguments[1:])
        else:
            pattern = HELPERS.get(f"{self.path} {name}") or HELPERS.get(name)
            if pattern and not is_declaration(arguments):
                self.add_helper(token, pattern, arguments)
        return None

    def read(self):
        end = Token(0, "", 0)
        for before, token, after in zip([end] + self.tokens, self.tokens, self.tokens[1:] + [end]):
            self.visit(before, token, after)
        if self.path.startswith(NO_MESSAGES):
            return
        for token, after in zip(self.tokens, self.tokens[1:]):
            if token.text == "text" and after.text == "(" and token.at not in self.used:
                arguments = self.list_at(token.at + 2)
                self.keep(token, map(whole, self.texts(lambda: self.joined(arguments))), 3)
