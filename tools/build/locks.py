# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who holds the lock of a session: clang's analysis of thread safety, by the attributes of src/base/locked.h.

It finds calls of functions that need the lock by functions that do not hold it, calls that must not be made under the
lock, and paths on which the lock is taken twice, or not released."""

import concurrent.futures
import functools
import os
import re
import shutil
import subprocess

WARNING = re.compile(r"^([^:\n]+:\d+):\d+: (?:warning|error): (.*?)(?: \[-W[\w,-]+\])?$", re.M)
CALLS = re.compile(r'^\s*#\s*include\s*"(?:link|jit)/', re.M)


def llvm(what):
    """What llvm-config says; "": there is none."""
    config = os.environ.get("LLVM_CONFIG", "llvm-config-22")
    return subprocess.run([config, what], capture_output=True, text=True).stdout.strip() if shutil.which(config) else ""


@functools.lru_cache(maxsize=None)
def clang():
    """The compiler; None: it is not installed."""
    return shutil.which("clang", path=os.environ.get("LLVM_BIN") or llvm("--bindir")) or shutil.which("clang")


def may_call(path, text):
    """Whether a source may call functions of the linker: it includes their headers."""
    return path.startswith(("src/link/", "src/jit/")) or bool(CALLS.search(text))


def find_in(source, text=None):
    """What clang says of a source; of `text` in its place if that is given."""
    command = [clang(), "-fsyntax-only", "-std=c11", "-D_GNU_SOURCE", "-Wno-everything", "-Wthread-safety", "-Iinclude", "-Isrc"]
    command += ["-Itools", "-isystem", llvm("--includedir") or "/usr/include", "-x", "c", source if text is None else "-"]
    said = subprocess.run(command, input=text, capture_output=True, text=True)
    result = WARNING.findall(said.stderr)
    return result or ([(source, said.stderr.strip())] if said.returncode else [])


def find(sources, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return sorted({one for found in pool.map(find_in, sources) for one in found})
