"""Time requests to app.py, by python latency.py TEXTS.txt [process id of the server].

It makes texts of some lengths from the words of TEXTS.txt, and prints a table: the latency, and on
Linux with a process id, the CPU time of the server for a request.
"""

import json
import os
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles

WORDS, TEXTS = (10, 50, 200), (1, 8, 32)
JSON = {"Content-Type": "application/json"}
SECONDS = 5  # for each cell


def cpu_seconds(pid: str) -> float:
    """Return the CPU time that a process has used, as Linux has it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(path: str, pid: str = "") -> None:
    """Print a row for each number of texts and words."""
    words = Path(path).read_text("utf8").split()
    server = HTTPConnection("127.0.0.1", 8000)
    print("texts of words: median ms, 95th percentile ms, CPU ms, requests")
    for number in TEXTS:
        for length in WORDS:
            times: list[float] = []
            at, cpu = 0, cpu_seconds(pid) if pid else 0.0
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end or len(times) < 20:
                texts = []
                for _ in range(number):
                    at = (at + length) % max(1, len(words) - length)
                    texts.append(" ".join(words[at : at + length]))
                start = time.perf_counter()
                server.request("POST", "/entities", json.dumps({"texts": texts}), JSON)
                answer = server.getresponse()
                answer.read()
                times.append(1e3 * (time.perf_counter() - start))
                if answer.status != 200:
                    sys.exit(f"The server answers {answer.status}.")
            used = 1e3 * (cpu_seconds(pid) - cpu) / len(times) if pid else float("nan")
            high = quantiles(times, n=20)[-1]
            print(
                f"{number:2} of {length:3}: {median(times):.1f} {high:.1f} {used:.1f} {len(times)}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
