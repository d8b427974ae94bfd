# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pointers upward: pointers to functions that a room declares, and that lead to functions of rooms above it.

Such a pointer is a member of a struct, or a variable of a file, that is declared in src. What is in include/ is the
client's to set, and parameters are used during one call only. It leads upward if, in an initializer, an assignment or
a call of a function that stores its parameter there, its value is the name of a function that is defined in a room
above the one that declares the pointer. Names and types are read from the text of sources: a member is known by the
type with which the variable or member before it is declared anywhere, a function by its definition in the same file or
else by the one that is not static."""

import collections
import re

DEFINITION = re.compile(r"^(?!typedef|(?:struct|union|enum)\s+\w*\s*\{)(\w[^;{}=#]*?)\b(\w+)\(([^;{}]*)\)(?:\s+TN__\w+)*\s*\{", re.M)
POINTER = re.compile(r"\(\*\s*(?:const\s+|volatile\s+)*(\w+)\s*\)\s*\(")
VARIABLE = re.compile(r"^(?!typedef\b)\w[\w *]*\(\*\s*(\w+)\s*\)\([^\n{}=]*;$", re.M)
FUNCTION_TYPE = re.compile(r"\btypedef\s+[^;{}()]*?\b(\w+)\([^;]*\);")
STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{")
NAME = re.compile(r"&?\s*(\w+)")

Pointer = collections.namedtuple("Pointer", "file holder member")  # `holder`: a struct; "": a variable


def inside(text, start):
    """The text from `start`, which is behind an opening brace, to its closing one."""
    depth, at = 1, start
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start : at - 1]


def parts(text, separator):
    """Splits at separators that are in no brackets."""
    result, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == separator and not depth:
            result.append(text[start:at].strip())
            start = at + 1
    return [part for part in [*result, text[start:].strip()] if part]


def name_of(declaration):
    """The name that a member or parameter has."""
    pointer = POINTER.search(declaration)
    plain = re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*(:\s*\d+\s*)?(__attribute__.*)?$", declaration)
    return pointer[1] if pointer else plain[1] if plain else ""


class Sources:
    """What the texts of sources declare; `rank` says how high the room of a file is."""

    def __init__(self, texts, rank):
        self.texts, self.rank = texts, rank
        everything = "\n".join(texts.values())
        self.function_types = set(FUNCTION_TYPE.findall(everything))
        self.types = collections.defaultdict(set)  # of variables and members, by name
        for struct, name in re.findall(r"\bstruct\s+(\w+)\s*(?:\*|const|volatile|\s)*\b(\w+)\s*[;,=)\[]", everything):
            self.types[name].add(struct)
        self.members = {}  # names of all members, by (file, struct)
        self.pointers = collections.defaultdict(list)  # members that are pointers to functions, by their name
        self.functions = collections.defaultdict(dict)  # files that define a function: the names of its parameters
        for path, text in texts.items():
            for match in STRUCT.finditer(text):
                self.add_struct(path, match[1], inside(text, match.end()))
            for match in DEFINITION.finditer(text):
                self.functions[match[2]][path] = ("static" in match[1], [name_of(p) for p in parts(match[3], ",")])

    def is_pointer(self, declaration):
        of_type = re.match(r"(?:const\s+)?(\w+)\s*\*", declaration)
        return bool(POINTER.search(declaration) or of_type and of_type[1] in self.function_types)

    def add_struct(self, path, struct, body):
        declarations = [d for declaration in parts(body, ";") for d in parts(declaration, ",")]
        self.members[path, struct] = [name_of(d) for d in declarations]
        for declaration in declarations:
            if self.is_pointer(declaration):
                self.pointers[name_of(declaration)].append(Pointer(path, struct, name_of(declaration)))

    def home(self, path, value):
        """The file that defines the function which a value names; None: it names none."""
        name = NAME.fullmatch(value.strip())
        homes = self.functions.get(name[1], {}) if name else {}
        if path in homes:
            return path
        # What others may call begins so; other names are of variables here.
        others = homes.items() if name and name[1].startswith("tn_") else ()
        return next((home for home, (is_static, _) in others if not is_static), None)

    def variables(self):
        """Variables of files that are pointers to functions."""
        for path, text in self.texts.items():
            for name in VARIABLE.findall(text):
                yield Pointer(path, "", name)

    def values(self):
        """(file, pointer, value) of each initializer, assignment and call that sets one."""
        for path, text in self.texts.items():
            declared = r"\bstruct\s+(\w+)\s*(?:\*\s*const\s*)?(?:\w+\s*(?:\[\w*\])?\s*=\s*|\)\s*)\{"
            for match in re.finditer(declared, text):
                for holder in [key for key in self.members if key[1] == match[1]]:
                    for member, value in self.initializer(holder, inside(text, match.end())):
                        yield from ((path, p, value) for p in self.pointers[member] if p[:2] == holder)
            for match in re.finditer(r"\b(\w+)(?:\[[^\]]*\])?(?:\.|->)(\w+)\s*=\s*([^=;,]+)[;,]", text):
                for pointer in self.pointers.get(match[2], ()):
                    if pointer.holder in self.types[match[1]]:
                        yield path, pointer, match[3]
        for pointer in set(self.variables()):
            yield from self.stored(pointer)

    def initializer(self, holder, text):
        values = parts(text, ",")
        if values and values[0].startswith("{"):
            for value in values:
                yield from self.initializer(holder, value[1:-1])
            return
        position = 0
        for value in values:
            named = re.match(r"\.(\w+)\s*=\s*(.*)", value, re.S)
            if named and named[1] in self.members[holder]:
                position = self.members[holder].index(named[1])
            if position < len(self.members[holder]):
                yield self.members[holder][position], named[2] if named else value
            position += 1

    def stored(self, pointer):
        """Values of a variable: assigned, or passed to a function of its file that assigns its parameter."""
        for path, text in self.texts.items():
            for value in re.findall(rf"(?<![\w.>]){pointer.member}\s*=\s*([^=;,]+);", text):
                yield path, pointer, value
        text = self.texts[pointer.file]
        for match in DEFINITION.finditer(text):
            stored = re.search(rf"(?<![\w.>]){pointer.member}\s*=\s*(\w+);", inside(text, match.end()))
            names = [name_of(p) for p in parts(match[3], ",")]
            if stored and stored[1] in names:
                for path, user in self.texts.items():
                    for call in re.finditer(rf"\b{match[2]}\(([^;{{}}]*)\);", user):
                        values = parts(call[1], ",")
                        if len(values) == len(names):
                            yield path, pointer, values[names.index(stored[1])]


def find(texts, rank):
    """All pointers upward: a set of files whose functions they lead to, by Pointer."""
    sources, result = Sources(texts, rank), collections.defaultdict(set)
    for path, pointer, value in sources.values():
        home = sources.home(path, value)
        if home and rank(home) > rank(pointer.file):
            result[pointer].add(home)
    return result
