"""The main job from outside: what it prints, that it resumes exactly, and that Ctrl-C leaves a checkpoint.

Runs under Kindling; KINDLING_TEST_RUNNER="python" runs the same checks under torch.
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
# Seconds, much more than is needed: under sanitizers each takes ten times as long.
PATIENCE = 3000 if os.environ.get("KINDLING_SANITIZED") else 300
RUNNER = shlex.split(os.environ.get("KINDLING_TEST_RUNNER", "")) or [sys.executable, "-m", "kindling", "run"]
SMALL = ["--dim", "32", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--context", "32", "--batch", "4",
         "--eval-every", "10", "--dropout", "0.1", "--sample", "20"]


def command(*arguments):
    return [*RUNNER, os.path.join(EXAMPLES, "tiny_llama.py"), *SMALL, *map(str, arguments)]


def run(*arguments, **environment):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def last_object(text):
    return json.loads(text.strip().splitlines()[-1])


def test_first_and_last_line(tmp_path):
    done = run("--steps", 20, "--checkpoint", tmp_path / "a.pt", "--plot", tmp_path / "loss.svg", "--prompt", "import ")
    lines = done.stdout.splitlines()
    first = re.match(r"first step after (\d+) ms\b", lines[0])
    result = last_object(done.stdout)
    assert set(result) == {"first_step_ms", "steps", "heldout_loss", "bigram_loss", "tokens_per_s", "checkpoint", "wall_s"}
    assert result["first_step_ms"] == int(first[1]) and result["steps"] == 20
    assert 1.5 < result["bigram_loss"] < 3.5 and 2 < result["heldout_loss"] < 5.6
    assert result["first_step_ms"] / 1000 < result["wall_s"] < 300 and result["tokens_per_s"] > 0
    assert os.path.exists(result["checkpoint"]) and not os.path.exists(result["checkpoint"] + ".tmp")
    assert "import " in done.stdout.split("-" * 72)[1]
    picture = (tmp_path / "loss.svg").read_text()
    assert picture.startswith("<svg") and picture.count("<circle") == 2 and "polyline" in picture
    assert "\x1b" not in done.stderr and "\r" not in done.stderr and "step 20/20" in done.stderr


def test_learns_faster_than_counting_is_not_claimed_without_training(tmp_path):
    few = last_object(run("--steps", 5, "--checkpoint", tmp_path / "a.pt").stdout)
    more = last_object(run("--steps", 150, "--checkpoint", tmp_path / "b.pt").stdout)
    assert more["heldout_loss"] < few["heldout_loss"] - 0.5
    assert more["bigram_loss"] == few["bigram_loss"]


@pytest.mark.parametrize("words, error", [
    (["--steps", "0"], "--steps needs at least 1"), (["--kv-heads", "3"], "--heads needs a multiple of --kv-heads"),
    (["--batch", "-2"], "--batch needs at least 1"), (["--plot", "no/such/loss.svg"], "--plot: there is no folder"),
    (["--checkpoint", "no/such/a.pt"], "--checkpoint: there is no folder"), (["--resume", "missing.pt"], "--resume: there is no file missing.pt"),
])
def test_refused_before_training(tmp_path, words, error):
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and error in done.stderr and done.stdout == "" and os.listdir(tmp_path) == []


def test_selfcheck_prints_fifty_losses_and_writes_nothing(tmp_path):
    done = run("--selfcheck", "--checkpoint", tmp_path / "a.pt", "--seed", 3)
    losses = json.loads(done.stdout.splitlines()[-1])
    assert len(losses) == 50 and losses[-1] < losses[0] - 0.3
    assert os.listdir(tmp_path) == []
    assert json.loads(run("--selfcheck", "--seed", 4).stdout.splitlines()[-1])[0] != losses[0]


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path):
    whole = last_object(run("--steps", 160, "--checkpoint", tmp_path / "whole.pt").stdout)
    part = tmp_path / "part.pt"
    process = subprocess.Popen(command("--steps", 160, "--checkpoint", part), stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL)
    assert process.stdout.readline().startswith("first step")
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, rest
    stopped = int(re.search(r"stopped after (\d+) steps", rest)[1])
    assert 0 < stopped < 160 and part.exists()
    resumed = last_object(run("--checkpoint", part, "--resume").stdout)
    assert resumed["steps"] == 160
    assert resumed["heldout_loss"] == whole["heldout_loss"]


def test_resume_refuses_another_model(tmp_path):
    run("--steps", 2, "--checkpoint", tmp_path / "a.pt")
    done = subprocess.run(command("--resume", tmp_path / "a.pt", "--dim", 64), capture_output=True, text=True)
    assert done.returncode == 1 and "checkpoint holds a model of" in done.stderr


def test_compile_checks_mode_and_backend(tmp_path):
    done = subprocess.run(command("--steps", 2, "--compile", "sometimes"), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0 and "sometimes" in done.stderr
    done = subprocess.run(command("--steps", 2, "--compile", "--backend", "nowhere"), capture_output=True, text=True,
                          cwd=tmp_path)
    assert done.returncode != 0 and "nowhere" in done.stderr


@pytest.mark.parametrize("name", ["lenet_digits", "lstm_lm", "small_gpt"])
def test_other_examples_learn(name):
    done = subprocess.run([*RUNNER, os.path.join(EXAMPLES, name + ".py"), "--selfcheck"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    losses = json.loads(done.stdout.splitlines()[-1])
    assert len(losses) == 50 and sum(losses[-5:]) / 5 < 0.75 * losses[0]
