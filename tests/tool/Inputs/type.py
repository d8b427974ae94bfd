# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types into a shell on a terminal: type.py SETUP LINE EXPECTED SHELL..., with \\t in LINE as the key Tab.

Passes as soon as the shell shows the expected text after the line was typed; the shell then ends."""

import os
import pty
import select
import sys

setup, line, expected, *shell = sys.argv[1:]
DEADLINE = 40  # seconds without output


def wait(terminal, wanted):
    """Reads until the wanted text was shown, and returns all that was."""
    shown = b""
    while wanted.encode() not in shown:
        readable, _, _ = select.select([terminal], [], [], DEADLINE)
        chunk = os.read(terminal, 65536) if readable else b""
        if not chunk:
            sys.exit(f"{wanted!r} is not in {shown!r}")
        shown += chunk
    return shown


process, terminal = pty.fork()
if process == 0:
    os.environ.update(TERM="dumb", HOME=os.getcwd(), ZDOTDIR=os.getcwd(), XDG_CONFIG_HOME=os.getcwd())
    os.execvp(shell[0], shell)
# The prompt is not what is typed for it, which the terminal shows as well.
os.write(terminal, (setup + "; PS1='re''ady> '\n").encode())
wait(terminal, "ready> ")
os.write(terminal, line.replace("\\t", "\t").encode())
wait(terminal, expected)
os.close(terminal)
