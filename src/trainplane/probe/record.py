"""Write a flame graph of a process to the standard output: record.py PID SECONDS RATE."""

import os
import shutil
import subprocess
import sys
import tempfile

MISSING = 90
pid, seconds, rate = sys.argv[-3:]
program = shutil.which("py-spy", path=os.environ.get("PATH", "") + ":" + os.path.dirname(sys.executable))
if program is None:
    sys.exit(MISSING)
with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(folder, "graph.svg")
    words = [program, "record", "--pid", pid, "--duration", seconds, "--rate", rate, "--output", place]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode or not os.path.exists(place):
        sys.stderr.write(done.stderr or done.stdout)
        sys.exit(done.returncode or 1)
    with open(place, "rb") as graph:
        shutil.copyfileobj(graph, sys.stdout.buffer)
