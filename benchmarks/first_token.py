"""From process start to the first token of a tiny llama by transformers, under Kindling and under PyTorch.

    python benchmarks/first_token.py --packages FOLDER... --kindling FOLDER... --torch FOLDER... [--times 5]

FOLDERs are for PYTHONPATH: what transformers needs, and each side's own. The interpreter runs without its site-packages, so that
transformers finds what it needs and nothing else: it imports scipy, torchvision and others where they are installed, on both sides. Both
sides run in turns; the least processor time (user and system) and the least time on the clock count.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)).eval()
print(model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=1, do_sample=False)[0, -1].item())
"""


def seconds(command, paths, folder):
    """(processor time, time on the clock, the token)"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "KINDLING_NUM_THREADS": "1"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, "-S", *command], env=environ, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin, done.stdout.split()[-1]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--packages", "--kindling", "--torch"):
        parser.add_argument(name, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "first.py")
        with open(program, "w") as file:
            file.write(PROGRAM)
        packages = [os.path.abspath(each) for each in given.packages]
        sides = {"kindling": (["-m", "kindling", "run", program], [*map(os.path.abspath, given.kindling), *packages]),
                 "torch": ([program], [*map(os.path.abspath, given.torch), *packages])}
        found = {name: [] for name in sides}
        for _ in range(given.times):
            for name, side in sides.items():
                found[name].append(seconds(*side, folder))
    for name, runs in found.items():
        print(f"{name:10} {min(run[0] for run in runs):6.2f} s of processor time, {min(run[1] for run in runs):6.2f} s on the clock, token {runs[0][2]}")
    ours, theirs = (found[name] for name in ("kindling", "torch"))
    print(f"ratio {min(run[0] for run in ours) / min(run[0] for run in theirs):.3f} of processor time, "
          f"{min(run[1] for run in ours) / min(run[1] for run in theirs):.3f} on the clock")


if __name__ == "__main__":
    main()
