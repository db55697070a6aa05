"""Runs a script of bash on a terminal of its own, and answers yes where it is asked (y/n), as a reader does who has read what is asked."""
import os
import pty
import sys


def read(terminal):
    data = os.read(terminal, 65536)
    if b"(y/n)" in data:
        os.write(terminal, b"y\n")
    return data


sys.exit(os.waitstatus_to_exitcode(pty.spawn(["bash", sys.argv[1]], read)))
