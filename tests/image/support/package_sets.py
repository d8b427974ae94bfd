# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sets of 2 to 6 packages of C and C++ that use each other, each built before and after random changes.

    package_sets.py FOLDER FIRST END

For each number from FIRST to END - 1: writes a set, builds its packages (variables of the environment: CLANG, CC,
TENON, HOST, which is package_sets_host.c), and opens combinations of old and new ones. Which functions are stale
follows from the graph of references here; the results, from a program of the same IR without images. Prints a line
`not ok ...` for each difference, and at the end what was seen.
"""

import itertools
import os
import random
import subprocess
import sys

TABLES, FUNCTIONS, COMBINATIONS = 2, 5, 8

# What a function of C, and one of C++, may be. `PLAIN` ones may be copied into others. Other packages call aliased ones
# by their aliases, which have no bodies.
KINDS_OF_C = "plain plain plain shared text attributes forced noinline weak state local thread large aliased table"
KINDS_OF_CXX = "plain plain plain shared text attributes forced noinline state local thread inline counted direct"
KINDS_OF_CXX += " virtual derived table"
PLAIN = "plain shared text attributes forced inline direct virtual aliased".split()

TARGETS = ["x86-64", "x86-64;x86-64-v3", "x86-64;x86-64-v3,clone_all;x86-64-v2"]

PRELUDE = """#define LARGE(x) (((((((((((((x * 3) ^ 5) * 7) ^ x) * 9) ^ 11) * x) ^ 13) * 15) ^ 17) * x) ^ 19) + x)
#ifdef __cplusplus
#define PUBLIC extern "C"
#define DEFINED extern "C"
#else
#define PUBLIC extern
#define DEFINED
#endif
"""


class Node:
    """Something that refers to others. `copied`: others may have copies of it; `followed`: its users have what it
    refers to, as an initial value; `stale`: a function, which may be stale."""

    def __init__(self, package, symbol, kind, copied=False, followed=False, stale=True):
        self.package, self.symbol, self.kind = package, symbol, kind
        self.copied, self.followed, self.stale = copied, followed, stale
        self.refers, self.value, self.changes = [], 0, False

    def number(self, age):
        return self.value + (1000 if self.changes and age == "new" and self.kind != "attributes" else 0)


class Set:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.has_types = seed % 8 == 7  # types whose layout changes
        self.packages = []
        for package in range(self.random.randint(2, 6)):
            self.packages.append(Package(self, package, self.random.random() < 0.5))
        for copied in (True, False):
            nodes = [n for p in self.packages for n in p.nodes if n.value and n.copied == copied]
            for node in self.random.sample(nodes, min(len(nodes), self.random.randint(1, 5))):
                node.changes = True
        count = len(self.packages)
        everything = list(itertools.product(["old", "new"], repeat=count))
        self.combinations = self.random.sample(everything, min(COMBINATIONS, len(everything)))
        self.options = ["--targets", self.random.choice(TARGETS), "--shards", str(self.random.choice([1, 1, 3, 5]))]
        self.options += ["-O" + str(self.random.choice([1, 2]))]

    def refused(self, ages):
        """The first package that was built with types of other sizes."""
        for user in self.packages:
            for other in self.packages[: user.number]:
                if user.has_type and other.has_type and ages[user.number] != ages[other.number]:
                    return user.number
        return None

    def stale(self, ages):
        return sorted(n.symbol for p in self.packages for n in p.nodes if n.stale and self.is_stale(n, ages))

    @staticmethod
    def is_stale(function, ages):
        reached, work = set(), [(function, node) for node in function.refers]
        while work:
            user, node = work.pop()
            foreign = node.package != function.package
            by_alias = node.kind == "aliased" and user.package != node.package
            if node in reached or by_alias or (foreign and not node.copied) or (not foreign and not node.followed):
                continue
            reached.add(node)
            work += [(node, other) for other in node.refers]
            if foreign and node.changes and ages[node.package] != ages[function.package]:
                return True
        return False


class Package:
    def __init__(self, all_of, number, is_cxx):
        self.all, self.number, self.is_cxx = all_of, number, is_cxx
        self.has_type = all_of.has_types and not is_cxx
        self.random = all_of.random
        self.tables, self.functions, self.methods, self.nodes = [], [], [], []
        for i in range(TABLES):
            self.tables.append(self.add(f"t{number}_{i}", "constant", copied=True, stale=False))
        if is_cxx:
            for i in range(2):
                method = self.add(f"_ZNK2c{number}2m{i}Ej", "method", copied=True)
                self.refer(method)
                self.methods.append(method)
        for i in range(FUNCTIONS):
            kind = self.random.choice((KINDS_OF_CXX if is_cxx else KINDS_OF_C).split())
            if kind in ("direct", "virtual", "derived") and not self.classes():
                kind = "plain"
            self.functions.append(self.add_function(f"f{number}_{i}", kind))

    def classes(self):
        return [p for p in self.all.packages + [self] if p.is_cxx]

    def add(self, symbol, kind, **more):
        node = Node(self.number, symbol, kind, **more)
        node.value = self.random.randint(1, 99)
        self.nodes.append(node)
        return node

    def refer(self, node):
        for _ in range(self.random.choice([0, 1, 1, 2, 2, 3])):
            other = self.random.choice(self.all.packages + [self])
            choice = other.tables if self.random.random() < 0.33 else other.functions
            if choice:
                found = self.random.choice(choice)
                if found not in node.refers:
                    node.refers.append(found)

    def add_function(self, symbol, kind):
        node = self.add(symbol, kind, copied=kind in PLAIN)
        body = node  # what has the references
        if kind == "local":
            name = symbol.replace("f", "s")
            body = self.add(f"_ZL4{name}j" if self.is_cxx else name, "body")
        elif kind in ("inline", "counted"):
            body = self.add(symbol.replace("f", "i"), "body", copied=kind == "inline")
            node.refers = [body]
        elif kind == "derived":
            node.base = self.random.choice(self.classes())
            body = self.derive(symbol.replace("f", "d"), node)
        elif kind in ("direct", "virtual"):
            node.base = self.random.choice(self.classes())
            if kind == "direct":
                node.method = self.random.choice(node.base.methods)
        if body is not node:
            node.value = 0
        self.refer(body)
        if kind == "direct":
            node.refers.append(node.method)
        elif kind == "table":
            variable = self.add(symbol.replace("f", "h"), "variable", followed=True, stale=False)
            variable.value = 0
            variable.refers = [n for n in node.refers if n.symbol[0] == "f"]
            node.refers = [n for n in node.refers if n.symbol[0] != "f"] + [variable]
            node.pointers = variable.refers
        node.body = body
        return node

    def derive(self, name, node):
        """A class with a method of its own; its constructor has the address of its table, and the base's has that of
        the base's."""
        body = self.add(f"_ZNK4{name}2m0Ej", "body")
        made = self.add(f"_ZN4{name}C2Ev", "constructor")
        table = self.add(f"_ZTV4{name}", "vtable", followed=True, stale=False)
        below = next((n for n in self.nodes if n.symbol == f"_ZN2c{node.base.number}C2Ev"), None)
        if not below:
            below = self.add(f"_ZN2c{node.base.number}C2Ev", "constructor")
            foreign = Node(self.number, f"_ZTV2c{node.base.number}", "vtable", followed=True, stale=False)
            foreign.refers = list(node.base.methods)
            below.refers = [foreign]
        made.refers = [table]
        table.refers = [body, node.base.methods[1]]
        for each in (made, table, below):
            each.value = 0
        return body

    # ---- sources ----

    def suffix(self):
        return "cpp" if self.is_cxx else "c"

    def name_in_source(self, node):
        """How a function is called. Some are called by another name."""
        if node.kind == "aliased" and node.package != self.number:
            return node.symbol.replace("f", "a")
        return node.symbol

    def terms(self, node):
        text = ""
        for other in node.refers:
            if other.symbol[0] == "t":
                text += f" + {other.symbol}[x & 3]"
            elif other.symbol[0] == "f" or (other.symbol[0] == "i" and node.symbol[0] == "f"):
                text += f" + {self.name_in_source(other)}(x + 1)"
        return text

    def define(self, node, age):
        """Lines of one function."""
        name, kind = node.symbol, node.kind
        result = f"x * {len(name) + int(name[-1])} + {node.number(age)}{self.terms(node)}"
        head = f"DEFINED unsigned {name}(unsigned x)"
        local = name.replace("f", "s")
        body = node.body
        inner = f"x * 5 + {body.number(age)}{self.terms(body)}"
        if kind == "attributes":
            attribute = "cold" if node.changes and age == "new" else "hot"
            head = f"DEFINED __attribute__(({attribute})) unsigned {name}(unsigned x)"
        elif kind in ("noinline", "weak"):
            head = f"DEFINED __attribute__(({kind})) unsigned {name}(unsigned x)"
        elif kind == "forced":
            head = f"DEFINED __attribute__((always_inline)) unsigned {name}(unsigned x)"
            result = "LARGE(x) + " + result
        elif kind == "large":
            result = "LARGE(x) + LARGE((x + 1)) + " + result
        elif kind == "shared":
            return [f"DEFINED unsigned g{name} = 5; {head} {{ return g{name}++ + {result}; }}"]
        elif kind == "state":
            return [f"static unsigned v{name}; {head} {{ return v{name}++ + {result}; }}"]
        elif kind == "thread":
            return [f"static __thread unsigned v{name} = 3; {head} {{ return v{name}++ + {result}; }}"]
        elif kind == "text":
            result = f'(unsigned)"abcd{node.number(age)}"[x & 7 & 3] + {result}'
        elif kind == "local":
            first = f"static __attribute__((noinline)) unsigned {local}(unsigned x) {{ return {inner}; }}"
            return [first, f"{head} {{ return {local}(x) + 1; }}"]
        elif kind in ("inline", "counted"):
            count = "static unsigned count; count++;" if kind == "counted" else "unsigned count = 1;"
            first = f'extern "C" inline unsigned {body.symbol}(unsigned x) {{ {count} return count + {inner}; }}'
            return [first, f"{head} {{ return {body.symbol}(x) + 1; }}"]
        elif kind == "aliased":
            other = name.replace("f", "a")
            return [f"{head} {{ return {result}; }}", f'unsigned {other}(unsigned) __attribute__((alias("{name}")));']
        elif kind == "direct":
            base = f"c{node.base.number}"
            result += f" + o{node.base.number}.{base}::{node.method.symbol[8:10]}(x + 2)"
        elif kind == "virtual":
            result += f" + get{node.base.number}()->m0(x + 2) + get{node.base.number}()->m1(x)"
        elif kind == "derived":
            kind_name, base = name.replace("f", "d"), f"c{node.base.number}"
            first = f"struct {kind_name} : {base} {{ unsigned m0(unsigned x) const override {{ return {inner}; }} }};"
            use = f"{kind_name} o; o.k = x; const {base} *p = &o; return p->m0(x) + p->m1(x + 1);"
            return [first, f'extern "C" __attribute__((noinline)) unsigned {name}(unsigned x) {{ {use} }}']
        elif kind == "table":
            pointers = [self.name_in_source(n) for n in node.pointers] or [f"own{name}"]
            first = f"static unsigned own{name}(unsigned x) {{ return x + 1; }}"
            pointers = (pointers + [f"own{name}"] * 4)[:4]
            second = f"static unsigned (*const h{name}[4])(unsigned) = {{{', '.join(pointers)}}};"
            return [first, second, f"{head} {{ return h{name}[x & 3](x) + {result}; }}"]
        return [f"{head} {{ return {result}; }}"]

    def source(self, age):
        lines = [PRELUDE]
        for package in self.all.packages[: self.number + 1]:
            for i in range(TABLES):
                lines.append(f"PUBLIC const unsigned t{package.number}_{i}[4];")
            for node in package.functions:
                lines.append(f"PUBLIC unsigned {node.symbol}(unsigned x);")
                if node.kind == "aliased":
                    lines.append(f"PUBLIC unsigned {node.symbol.replace('f', 'a')}(unsigned x);")
            if package.is_cxx and self.is_cxx:
                name = f"c{package.number}"
                lines.append(f"struct {name} {{ unsigned k; virtual unsigned m0(unsigned x) const;")
                lines.append("    virtual unsigned m1(unsigned x) const; };")
                lines.append(f'extern {name} o{package.number}; extern "C" const {name} *get{package.number}();')
        for i, node in enumerate(self.tables):
            lines.append(f"DEFINED const unsigned t{self.number}_{i}[4] = {{{node.number(age)}, 2, 3, {i}}};")
        if self.is_cxx:
            name = f"c{self.number}"
            lines.append(f'{name} o{self.number}; extern "C" const {name} *get{self.number}() {{')
            lines.append(f"    return &o{self.number}; }}")
            for i, node in enumerate(self.methods):
                result = f"k + x * {i + 2} + {node.number(age)}{self.terms(node)}"
                lines.append(f"unsigned {name}::m{i}(unsigned x) const {{ return {result}; }}")
            both = f"get{self.number}()->m0(x) + get{self.number}()->m1(x)"
            lines.append(f'extern "C" unsigned u{self.number}(unsigned x) {{ return {both}; }}')
        for node in self.functions:
            lines += self.define(node, age)
        if self.has_type:
            size = 32 if age == "new" else 24
            lines.insert(0, '#include "tenon_heap.h"')
            lines.append(f'const struct tn_type type{self.number} = {{.name = "struct node", .kind = TN_KIND_FIXED,')
            lines.append(f"    .alignment = 8, .size = {size}, .references = 1}};")
        return "\n".join(lines) + "\n"

    def called(self):
        """Public functions in the order in which they are called."""
        return [n.symbol for n in self.functions] + ([f"u{self.number}"] if self.is_cxx else [])


class Run:
    def __init__(self, folder, seed):
        self.folder, self.seed, self.set = folder, seed, Set(seed)
        self.failures = 0

    def fail(self, what, text):
        self.failures += 1
        print(f"not ok set {self.seed} {' '.join(self.set.options)}: {what}: {text}")

    def command(self, what, *words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            self.fail(what, f"status {done.returncode}: {(done.stdout + done.stderr)[:2000]}")
        return done.stdout if not done.returncode else None

    def path(self, age, name):
        return f"{self.folder}/{age}.{name}"

    def build(self, age, package):
        number = package.number
        source, ir = self.path(age, f"{number}.{package.suffix()}"), self.path(age, f"{number}.bc")
        with open(source, "w") as file:
            file.write(package.source(age))
        clang = [os.environ["CLANG"] + ("++" if package.is_cxx else ""), "-w", "-O1", "-fPIC", "-Iinclude"]
        clang += ["-fno-rtti", "-fno-exceptions"] if package.is_cxx and self.seed % 2 else []
        using = []
        for other in range(number):
            using += ["--depends", self.path(age, f"{other}.image"), "--use", self.path(age, f"{other}.bc")]
        return (
            self.command("IR", *clang, "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", ir)
            is not None
            and self.command("object", *clang[:4], "-c", ir, "-o", self.path(age, f"{number}.o")) is not None
            and self.command(
                f"{age} package {number}",
                *[os.environ["TENON"], "build", "--kind=image", "--name", f"p{number}", "--keep-ir"],
                *self.set.options,
                *using,
                *["-o", self.path(age, f"{number}.image"), ir],
            )
            is not None
        )

    def write_main(self):
        names = [name for package in self.set.packages for name in package.called()]
        lines = ["#include <stdio.h>"] + [f"unsigned {name}(unsigned x);" for name in names]
        lines += ["int main(void)", "{", "    for (unsigned x = 3; x < 6; x++) {"]
        lines += [f'        printf("{name}=%u\\n", {name}(x));' for name in names]
        lines += ["    }", "    return 0;", "}"]
        with open(f"{self.folder}/main.c", "w") as file:
            file.write("\n".join(lines) + "\n")
        return self.command("main", os.environ["CC"], "-c", f"{self.folder}/main.c", "-o", f"{self.folder}/main.o")

    def compare(self, ages, seen):
        where = " ".join(ages)
        objects = [self.path(age, f"{i}.o") for i, age in enumerate(ages)]
        images = [self.path(age, f"{i}.image") for i, age in enumerate(ages)]
        program = f"{self.folder}/program"
        linked = self.command("link", os.environ["CLANG"] + "++", f"{self.folder}/main.o", *objects, "-o", program)
        wanted = self.command("program", program) if linked is not None else None
        names = [name for package in self.set.packages for name in package.called()]
        found = subprocess.run([os.environ["HOST"], *images, "--", *names], capture_output=True, text=True)
        lines = found.stdout.splitlines()
        if wanted is None:
            return False
        refused = self.set.refused(ages)
        if refused is not None:
            text = f"TN_ESTALE: {images[refused]}: it uses 'struct node'"
            if not lines or not lines[0].startswith(text):
                self.fail(where, f"'{text}' was wanted, found {lines[:1]}, status {found.returncode}")
            seen["refused"] += 1
            return True
        stale = self.set.stale(ages)
        kinds = {kind: sorted(line[len(kind) :] for line in lines if line.startswith(kind)) for kind in KINDS_OF_LINE}
        if found.returncode or kinds["error "]:
            self.fail(where, f"status {found.returncode}, {kinds['error ']} {found.stderr[:1000]}")
        for kind in ("stale ", "compiled "):
            if kinds[kind] != stale:
                self.fail(where, f"{kind}{sorted(set(kinds[kind]) ^ set(stale))} differ; wanted {stale}")
        results = [line for line in lines if "=" in line and not line.startswith("error ")]
        if results != wanted.splitlines():
            differ = [f"{a}/{b}" for a, b in zip(results, wanted.splitlines()) if a != b]
            self.fail(where, f"{len(results)} results, {differ[:5]} differ")
        seen["combinations"] += 1
        seen["stale"] += len(stale)
        return True

    def run(self, seen):
        for age in ("old", "new"):
            for package in self.set.packages:
                if not self.build(age, package):
                    return
        if self.write_main() is None:
            return
        for ages in self.set.combinations:
            if not self.compare(ages, seen):
                return


KINDS_OF_LINE = ("stale ", "compiled ", "error ")


def main():
    folder, first, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seen = {"combinations": 0, "stale": 0, "refused": 0}
    failures = 0
    for seed in range(first, end):
        one = Run(folder, seed)
        one.run(seen)
        failures += one.failures
    print(f"seen {seen['combinations']} {seen['stale']} {seen['refused']}, {failures} failures")


main()
