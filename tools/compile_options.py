"""Writes the names and types of torch.compile's options as the installed torch has them.

    python tools/compile_options.py kindling/_compiling/options.py

The type first, then the names; `*` where the type is more than one plain class. Programs that set options for
PyTorch's compiler start unchanged, and a misspelt name is found at the call.
"""
import sys
import textwrap


def main(path):
    from torch._inductor import config

    kinds = {}
    for name in sorted(config.get_config_copy()):
        kind = config.get_type(name)
        plain = {bool: "bool", int: "int", float: "float", str: "str"}.get(kind, "*")
        kinds.setdefault(plain, []).append(name)
    with open(path, "w") as file:
        file.write('"""Options of torch.compile by type, as tools/compile_options.py writes them."""\nOPTIONS = """\\\n')
        for plain in sorted(kinds):
            file.write(textwrap.fill(f"{plain} {' '.join(kinds[plain])}", 118, subsequent_indent=" ", break_long_words=False,
                                     break_on_hyphens=False) + "\n")
        file.write('"""\n')


if __name__ == "__main__":
    main(sys.argv[1])
