"""Writes the source code that documents quote: `python tools/quotes.py` after a change of such code.

A quote in a document is a comment that names the place, and a block below it:

    <!-- quoted from operators/elementwise/activation.cpp: declare("silu( -->
    ```cpp
    ```

The block is filled with the lines from the one where the text begins (a line may end behind its brackets) to the one that closes
it: the next line that is indented no deeper. tests/python/test_documents.py fails while a block is not what stands in the source.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"^<!-- quoted from (\S+): ([^\n]+) -->\n```(\w*)\n(.*?)^```$", re.M | re.S)


def quoted(path, text):
    """The piece of a source file that begins at the line with `text`."""
    source = (ROOT / path).read_text()
    lines = source.splitlines()
    places = [found.start() for found in re.finditer(re.sub(r"\\[({]", r"\g<0>\\s*", re.escape(text)), source)]
    if len(places) != 1:
        raise SystemExit(f"{path} has {text!r} {len(places)} times; a quote needs exactly one")
    start = source.count("\n", 0, places[0])
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start
    if not lines[start].rstrip().endswith(";"):
        end += 1
        while not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth:
            end += 1
    return textwrap.dedent("\n".join(lines[start : end + 1])) + "\n"


def renewed(document):
    """A document's text with its quotes as the sources have them."""
    return QUOTE.sub(lambda found: f"<!-- quoted from {found[1]}: {found[2]} -->\n```{found[3]}\n{quoted(found[1], found[2])}```", document)


def documents():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main():
    for path in documents():
        text = path.read_text()
        if renewed(text) != text:
            path.write_text(renewed(text))
            print(f"renewed {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
