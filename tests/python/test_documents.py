"""The documents: design.md stays short, what documents quote is what the sources say, and what they point at is there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("quotes_tool", ROOT / "tools" / "quotes.py")
quotes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quotes)

DOCUMENTS = quotes.documents()
DESIGN = (ROOT / "docs" / "design.md").read_text()
# Files that the build or a program makes, and names that are examples.
NOT_IN_THE_TREE = re.compile(r"operators/squareplus\.cpp|generated/.*|build/.*|.*\*.*")
READMES = [path for path in sorted(ROOT.rglob("README.md"))
           if not {"build", ".git"} & set(path.parts) and not any(part.startswith(".venv") for part in path.parts)]


def prose(text):
    """A document without its code."""
    return re.sub(r"^```.*?^```$|^    [^\n]*$", "", text, flags=re.M | re.S)


def paragraphs(text):
    """Paragraphs, and items of lists each for itself."""
    return [part for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text) if part.strip()]


def test_the_design_is_short():
    lines = DESIGN.splitlines()
    assert len(lines) <= 400
    assert [line for line in prose(DESIGN).splitlines() if len(line) > 125] == []
    assert [part for part in paragraphs(prose(DESIGN)) if len(part.splitlines()) > 8] == []


def test_the_readme_is_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


def test_quotes_are_what_the_sources_say():
    assert len(quotes.QUOTE.findall(DESIGN)) >= 3
    stale = [str(path.relative_to(ROOT)) for path in DOCUMENTS if quotes.renewed(path.read_text()) != path.read_text()]
    assert stale == [], "run python tools/quotes.py"


@pytest.mark.parametrize("path", [*DOCUMENTS, *READMES], ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_are_there(path):
    """Links, and paths in backticks that have a folder and an ending."""
    text = prose(path.read_text())
    missing = []
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not (path.parent / target).exists():
            missing.append(target)
    for name in re.findall(r"`((?:[\w.*-]+/)+[\w.*-]+\.(?:cpp|h|py|md|toml|sh|tsv|map))(?:::\w+)?`", text):
        bases = [ROOT, path.parent, ROOT / "kernels", ROOT / "script", ROOT / "kindling", ROOT / "tests", ROOT / "include"]
        if not NOT_IN_THE_TREE.fullmatch(name) and not any((base / name).exists() for base in bases):
            missing.append(name)
    assert missing == []


def test_folders_of_the_design_are_there():
    tree = re.search(r"^## 2\..*?(?=^## )", DESIGN, re.M | re.S)[0]
    named = [name for line in re.findall(r"^    (\S.*)$", tree, re.M) for name in re.findall(r"(\S+)/(?=\s|$)", line.split("   ")[0])]
    assert len(named) > 12
    assert [name for name in named if not (ROOT / name).is_dir()] == []
