"""Peak memory of whole processes that run one training case each, side by side with a peer.

    python benchmarks/peak_memory.py [--module kindling] [--peer torch] [--only '^train/'] [--threads 1]

Every case of `peers/cases.py` runs in a fresh process of each module, timed as the peer benchmark times it; the figure is
the process's largest resident size (VmHWM), interpreter, libraries and all.
"""
import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from bench import Worker  # noqa: E402
from cases import CASES  # noqa: E402


def peak(module, threads, case):
    """Megabytes, or what went wrong."""
    worker = Worker(sys.executable, module, threads)
    answer = worker.ask(case)
    if "error" in answer:
        return answer["error"]
    with open(f"/proc/{worker.process.pid}/status") as status:
        kilobytes = int(re.search(r"VmHWM:\s*(\d+)", status.read())[1])
    worker.process.stdin.close()
    worker.process.wait()
    return kilobytes / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--module", default="kindling")
    parser.add_argument("--peer", default="torch")
    parser.add_argument("--only", default="^train/")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for case in filter(re.compile(options.only).search, CASES):
        mine, peers = (peak(module, options.threads, case) for module in (options.module, options.peer))
        if isinstance(mine, str) or isinstance(peers, str):
            print(f"{case:30s} {mine} | {peers}")
        else:
            print(f"{case:30s} {mine:8.1f} MB  peer {peers:8.1f} MB  share {mine / peers:5.2f}", flush=True)


if __name__ == "__main__":
    main()
