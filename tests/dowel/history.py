# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""history.py DOWEL: types two lines at the prompt, then the key for the line before, in this session and in a new one.

Waits for what the lines print; a wait that is too long ends with what dowel has said.
"""

import os
import pty
import select
import signal
import sys

PROMPT = b"dowel> "
UP = b"\x1b[A"


def wait_for(master, text, said):
    """Reads until dowel has written the text; the end of what is read is returned."""
    while text not in said:
        if not select.select([master], [], [], 60)[0]:
            sys.exit(f"there is no {text!r} in {said!r}")
        said += os.read(master, 4096)
    return said[said.index(text) + len(text):]


def session(dowel, keys, last):
    """Types keys, each after the text that it waits for, waits for the last text, and ends dowel."""
    process, master = pty.fork()
    if not process:
        os.environ["TERM"] = "xterm"
        os.execv(dowel, [dowel])
    said = b""
    for text, key in keys:
        said = wait_for(master, text, said)
        os.write(master, key)
    wait_for(master, last, said)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main():
    dowel = sys.argv[1]
    first = [(PROMPT, b"let seven = 7\r"), (PROMPT, b"seven * 6\r"), (b"42\r\n", b""), (PROMPT, UP + b"\r")]
    session(dowel, first, b"42\r\n")
    session(dowel, [(PROMPT, b"let seven = 8\r"), (PROMPT, UP + UP + b"\r")], b"48\r\n")
    print("they come back")


main()
