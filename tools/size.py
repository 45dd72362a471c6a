"""Where the bytes of the shared libraries are, from the object files of a build folder.

    python tools/size.py BUILD [COUNT]

One line a folder of sources and, for the COUNT (20) largest, a line an object file: code, constants, unwinding tables.
What the linker drops or merges is still in these figures; the last lines are the libraries themselves.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

KINDS = (("code", r"\.text"), ("constants", r"\.rodata|\.data"), ("unwinding", r"\.eh_frame|\.gcc_except_table"))


def sections(path):
    """Bytes of each kind in an object file or a library, as `size` tells them."""
    found = Counter()
    for line in subprocess.run(["size", "-A", str(path)], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            for kind, pattern in KINDS:
                found[kind] += int(words[1]) if re.match(pattern, words[0]) else 0
    return found


def row(name, counts):
    return f"{name:64}" + "".join(f"{counts[kind]:12,}" for kind, _ in KINDS) + f"{sum(counts.values()):12,}"


def main(build, count=20):
    build = Path(build)
    files, folders = {}, {}
    for path in sorted((build / "CMakeFiles").glob("*.dir/**/*.o")):
        place = path.relative_to(build / "CMakeFiles")
        name = str(place).replace("kindling_objects.dir/", "").replace(".dir/", ": ").removesuffix(".cpp.o")
        files[name] = sections(path)
        folders.setdefault(name.rpartition("/")[0] or name, Counter()).update(files[name])
    print(f"{'':64}" + "".join(f"{kind:>12}" for kind, _ in KINDS) + f"{'all':>12}")
    for title, rows in (("folders", folders), ("files", files)):
        print(title)
        ordered = sorted(rows, key=lambda name: -sum(rows[name].values()))
        for name in ordered if title == "folders" else ordered[: int(count)]:
            print(row("  " + name, rows[name]))
    print("libraries")
    for path in sorted((build / "package" / "kindling").glob("*.so")):
        print(row("  " + path.name, sections(path)), f"{path.stat().st_size:12,} in the file")


if __name__ == "__main__":
    main(*sys.argv[1:])
