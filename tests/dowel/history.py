# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""history.py DOWEL: types two lines at the prompt, then the key for the line before, in this session and in a new one.

Waits for what the lines print; a wait that is too long ends with what dowel has said.
"""

import os
import pty
import select
import sys

UP = b"\x1b[A"


def wait_for(master, text, said):
    """Reads until dowel has written the text; the end of what is read is returned."""
    while text not in said:
        if not select.select([master], [], [], 60)[0]:
            sys.exit(f"there is no {text!r} in {said!r}")
        said += os.read(master, 4096)
    return said[said.index(text) + len(text):]


def session(dowel, keys):
    """Types keys, each after the text that it waits for."""
    process, master = pty.fork()
    if not process:
        os.environ["TERM"] = "xterm"
        os.execv(dowel, [dowel])
    said = b""
    for text, key in keys:
        said = wait_for(master, text, said)
        os.write(master, key)
    try:
        while os.read(master, 4096):
            pass
    except OSError:  # dowel has closed its side
        pass
    os.waitpid(process, 0)


def main():
    dowel = sys.argv[1]
    prompt = b"dowel> "
    session(dowel, [(prompt, b"let seven = 7\r"), (prompt, b"seven * 6\r"), (b"42", UP + b"\r"), (b"42\r\n", b"\x04")])
    session(dowel, [(prompt, b"let seven = 8\r"), (prompt, UP + UP + b"\r"), (b"48", b"\x04")])
    print("they come back")


main()
