"""Runs a command, reads its output, and ends the command when it has printed a text: for endless streams.

    until.py TEXT COMMAND…"""

import os
import subprocess
import sys


def main():
    wanted, command = sys.argv[1].encode(), sys.argv[2:]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        tail = b""
        while read := os.read(process.stdout.fileno(), 1 << 20):
            # The text may be split across two reads, and is in the last line.
            tail = (tail + read)[-4096:]
            if wanted in tail or wanted.replace(b":", b": ") in tail:
                process.kill()
                return
        sys.exit(f"{command[0]} ended before it printed {sys.argv[1]}")


if __name__ == "__main__":
    main()
