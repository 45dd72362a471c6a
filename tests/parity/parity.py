"""Runs examples under torch and under Kindling and compares the losses of their first 50 steps."""
import json
import os
import subprocess
import sys
import time

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
NAMES = ("lenet_digits", "lstm_lm", "small_gpt", "tiny_llama")
RUNNERS = {"torch": [sys.executable], "kindling": [sys.executable, "-m", "kindling", "run"]}
TOLERANCE = 1e-4


def losses(runner, name, timeout=300):
    """The 50 losses that `name --selfcheck` prints on its last line; fails with the program's own words."""
    command = [*RUNNERS[runner], os.path.join(EXAMPLES, name + ".py"), "--selfcheck"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"{name} under {runner} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    values = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(values) == 50, f"{name} under {runner} printed {len(values)} losses"
    assert all(isinstance(v, float) and v == v for v in values), values
    return values


def largest_difference(name):
    """(relative difference, step): where the two runs are furthest apart."""
    ours, theirs = losses("kindling", name), losses("torch", name)
    return max((abs(a - b) / abs(b), i) for i, (a, b) in enumerate(zip(ours, theirs)))


if __name__ == "__main__":
    bad = 0
    for name in sys.argv[1:] or NAMES:
        start = time.monotonic()
        try:
            difference, step = largest_difference(name)
        except AssertionError as error:
            print(f"{name}: {error}")
            bad += 1
            continue
        bad += difference >= TOLERANCE
        print(f"{name}: largest relative difference {difference:.2e} (step {step + 1}), {time.monotonic() - start:.0f} s")
    sys.exit(bool(bad))
