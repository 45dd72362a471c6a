"""Copies the headers that those of include/kindling need, so that one include folder serves a program.

    python tools/install_headers.py OUTPUT GENERATED

Inside the project headers name each other as "core/tensor.h"; a program sees them as "kindling/detail/core/tensor.h".
"""
import re
import shutil
import sys
from pathlib import Path

# What the functions' declarations in an installation say for these.
SHORT = {"const Tensor&": "Arg", "const Scalar&": "Num", "std::optional<": "Opt<", " = std::nullopt": " = {}"}
ALIASES = """using Arg = const Tensor&;
using Num = const Scalar&;
template <class T> using Opt = std::optional<T>;
"""

ROOT = Path(__file__).resolve().parent.parent


def main(output, generated):
    places = {"core": ROOT / "core", "generated": Path(generated)}
    shutil.rmtree(output, ignore_errors=True)
    done, waiting = set(), [(path.name, path) for path in sorted((ROOT / "include" / "kindling").glob("*.h"))]
    while waiting:
        name, path = waiting.pop()
        if name in done:
            continue
        done.add(name)
        text = path.read_text()
        for folder, file in re.findall(r'^#include "(\w+)/([\w.]+)"', text, re.M):
            waiting.append((f"detail/{folder}/{file}", places[folder] / file))
        target = Path(output) / "kindling" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in ("detail/generated/functions.h", "detail/generated/out_functions.h"):  # names with an underscore are parts of other functions
            text = re.sub(r"^[^\n(]* _\w+\([^\n]*\n", "", text, flags=re.M)
        if name.startswith("detail/generated/"):    # by short names what stands there a thousand times: 42 KB less
            for long, short in SHORT.items():
                text = text.replace(long, short)
        if name == "detail/core/tensor.h":
            text = text.replace("class Tensor;\n", f"class Tensor;\n{ALIASES}", 1)
        if name.startswith("detail/"):  # what they say is in the repository, too; the first line stays
            text = re.sub(r"(?<=\n) *//[^\n]*\n", "", text)
        target.write_text(re.sub(r'^#include "(core|generated)/', r'#include "kindling/detail/\1/', text, flags=re.M))


if __name__ == "__main__":
    main(*sys.argv[1:])
