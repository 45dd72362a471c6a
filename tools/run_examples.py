"""Runs the ```python examples of a document, in order and in one name space, as a reader would type them.

An example that is followed by a block marked ```output must print just that.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def main(path):
    text = Path(path).read_text()
    names = {"__name__": "__main__"}
    printed = None
    for found in BLOCK.finditer(text):
        kind, body = found.groups()
        line = text.count("\n", 0, found.start()) + 2
        if kind == "python":
            code = compile("\n" * (line - 1) + body, str(path), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, names)
            printed = out.getvalue()
        elif kind == "output" and printed.strip() != body.strip():
            sys.exit(f"{path}:{line}: printed\n{printed}\ninstead of\n{body}")


if __name__ == "__main__":
    main(sys.argv[1])
