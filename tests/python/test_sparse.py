"""Sparse tensors: the same programs in PyTorch and here.

A line of `sparse_cases/` is a program; one marked `# class` is refused by both, in words that begin differently.
"""
from pathlib import Path

import pytest
from sparse_programs import compare

CASES = sorted(Path(__file__).with_name("sparse_cases").glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=[path.stem for path in CASES])
@pytest.mark.filterwarnings("ignore")
def test_same_answers(case):
    different = []
    for line in case.read_text().splitlines():
        program, _, mark = line.partition("  # ")
        if answers := compare(program.replace("; ", "\n"), words=mark != "class"):
            different.append(f"{program}\n    torch: {answers[0]}\n    here:  {answers[1]}")
    assert not different, "\n".join(different)
