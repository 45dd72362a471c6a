"""Compares the public names of PyTorch's modules with Kindling's, and writes the table of what is missing.

    python tools/names.py docs/missing-names.md     # needs torch and kindling installed
    python tools/names.py --json                    # the facts, for the tests

All modules of PyTorch are walked (tools/surface.py), and the public members of classes that are there. A name that can be
imported and raises when it is used is counted apart; what it would need stands in NEEDS of kindling/_absent.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import surface

TYPES_ONLY = ("AliasDb ArgumentSpec Capsule Code CompleteArgumentSpec ConcreteModuleType DeepCopyMemoTable Gradient IODescriptor OperatorInfo "
              "ScriptClass ScriptClassFunction ScriptFunction ScriptMethod ScriptObject ScriptObjectProperty TracingState").split()


def facts():
    """{"modules": {name: {"names", "there", "raises", "missing"}}, "members": ..., "private": ...}"""
    theirs = surface.ask(["torch"])
    asked = {module: list(names) for module, names in theirs["public"].items()}
    for _, module, name in theirs["private"]:
        if name not in asked.setdefault(module, []):
            asked[module].append(name)
    asked.setdefault("torch", []).extend(name for name in theirs["all"] if name not in asked["torch"])
    ours = surface.ask(["kindling"], json.dumps({"names": asked, "members": theirs["members"]}))
    there, raises = ({module: set(names) for module, names in ours[kind].items()} for kind in ("there", "raises"))
    modules = {}
    for module, names in theirs["public"].items():
        have, refuse = there.get(module, set()), raises.get(module, set())
        modules[module] = {"imports": module in ours["modules"], "names": len(names), "there": sum(name in have for name in names),
                           "raises": sorted(name for name in names if name in refuse),
                           "missing": sorted(name for name in names if name not in have and name not in refuse)}
    uses = {line.split("\t")[0]: int(line.split("\t")[1]) for line in surface.USED.read_text().splitlines()}
    lacking = {used: uses[used] for used, module, name in theirs["private"]
               if name not in there.get(module, ()) and name not in raises.get(module, ())}
    listed = set(theirs["all"])
    return {"modules": modules, "members": ours["members"], "classes": {name: len(each) for name, each in theirs["members"].items()},
            "private": {"names": len(theirs["private"]), "uses": sum(uses[used] for used, _, _ in theirs["private"]), "missing": lacking},
            "beyond": sorted(set(ours["all"]) - listed),
            "not_public": sorted((there.get("torch", set()) & listed) - set(ours["all"]))}


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f}%)"


def totals(found):
    """Sums over all modules: names, there, raises, missing."""
    modules = found["modules"].values()
    return (sum(each["names"] for each in modules), sum(each["there"] for each in modules),
            sum(len(each["raises"]) for each in modules), sum(len(each["missing"]) for each in modules))


def table(found):
    # Its constants alone: the package itself need not be importable here.
    space = {}
    source = (surface.ROOT / "kindling" / "_absent" / "__init__.py").read_text()
    exec(source[source.index("_QUANTISED = "):source.index("_SIGN = ")], space)    # NEEDS and what it is made of
    needs = space["NEEDS"]

    def why(path):
        while path not in needs:
            path = path.rpartition(".")[0]
        return path

    names, there, raises, missing = totals(found)
    lacking, private = sum(map(len, found["members"].values())), found["private"]
    text = f"""# Names of PyTorch that are not there

Made by `python tools/names.py docs/missing-names.md`, which walks all modules of PyTorch 2.13 and asks Kindling for each public name.

- modules that import: {share(sum(each['imports'] for each in found['modules'].values()), len(found['modules']))}
- names that work: {share(there, names)}
- names that can be imported, handed on and subclassed, and raise when they are used: {raises}; each says what it would need
- names that are missing: {missing}
- public members of classes that are there: {lacking} of {sum(found['classes'].values())} missing
- private names that packages use (`tests/packages/private.tsv`), by uses:
  {share(private['uses'] - sum(private['missing'].values()), private['uses'])} there

## Missing
"""
    for module, each in found["modules"].items():
        if each["missing"]:
            text += f"\n- `{module}`: {', '.join(f'`{name}`' for name in each['missing'])}: {needs[why(module[6:])]}"
    text += "\n\nPrivate: " + ", ".join(f"`{name}`" for name in private["missing"]) + "\n"
    text += "\n## Members of classes\n\n"
    members = {}
    for cls, each in found["members"].items():
        members.setdefault(tuple(each), []).append(cls)
    for each, classes in members.items():
        text += f"- {', '.join(f'`{cls}`' for cls in classes)}: {', '.join(f'`{name}`' for name in each)}\n"
    text += "\n## Raise when they are used\n\nBy what they would need; the names stand in `kindling/_absent` and in files of ours.\n"
    groups = {}
    for module, each in found["modules"].items():
        for name in each["raises"]:
            groups.setdefault(why(f"{module[6:]}.{name}".lstrip(".")), {}).setdefault(module, []).append(name)
    for key in sorted(groups):
        text += f"\n- {'`torch.' + key + '`' if key else 'others'} {needs[key]}: " + ", ".join(
            f"`{module}` {len(listed)}" for module, listed in groups[key].items()) + "\n"
    text += f"""
## There as types only

For `isinstance`, as PyTorch cannot make objects of them from Python either; their objects come with scripts:
{', '.join(f'`{name}`' for name in TYPES_ONLY)}.

There as dtypes that say what they are (size, sign, name, `finfo`), but no tensor can have them yet: `complex32`, float4, bits and
sub-byte integer dtypes.
"""
    return text


def main(argv):
    found = facts()
    if argv == ["--json"]:
        print(json.dumps(found))
        return 0
    Path(argv[0]).write_text(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
