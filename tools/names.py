"""Compares the public names of PyTorch's top module with Kindling's, and writes the table of what is missing.

    python tools/names.py docs/missing-names.md     # needs torch and kindling installed
    python tools/names.py --json                    # the facts, for the tests

A name that only raises counts as missing. Each missing name that is no operator has its reason in REASONS below; the
command fails where one has none, or where a reason is left for a name that is there now.
"""
import json
import subprocess
import sys

REASONS = {
    "export": "torch.export needs graphs of programs, which come with compilation",
    "cpp": "wraps modules of PyTorch's own C++ library, which is not in the process",
    "lobpcg": "the iterative eigensolver; torch.linalg.eigh serves dense matrices",
    "ConcreteModuleTypeBuilder": "the inside of PyTorch's script compiler",
    "ExecutionPlan": "the inside of PyTorch's script interpreter",
    "GraphExecutorState": "the inside of PyTorch's script interpreter",
    "LiteScriptModule": "PyTorch's mobile interpreter",
    "ScriptModuleSerializer": "writes scripted modules; scripts come with compilation",
    "StaticModule": "PyTorch's static runtime",
    "import_ir_module": "reads scripted modules; scripts come with compilation",
    "import_ir_module_from_buffer": "reads scripted modules; scripts come with compilation",
    "merge_type_from_type_comment": "the inside of PyTorch's script compiler",
    "parse_type_comment": "the inside of PyTorch's script compiler",
}
TYPES_ONLY = ("AliasDb ArgumentSpec Capsule Code CompleteArgumentSpec ConcreteModuleType DeepCopyMemoTable Gradient IODescriptor OperatorInfo "
              "ScriptClass ScriptClassFunction ScriptFunction ScriptMethod ScriptObject ScriptObjectProperty TracingState").split()

ASK_TORCH = """
import json, torch
operators = set(dir(torch._C._VariableFunctions))
print(json.dumps({name: name in operators for name in torch.__all__}))
"""
ASK_KINDLING = """
import json, sys, kindling
def there(name):
    try: value = getattr(kindling, name)
    except AttributeError: return False
    return not getattr(value, "_absent", False)
names = json.loads(sys.stdin.read())
print(json.dumps([[name for name in names if there(name)], sorted(kindling.__all__)]))
"""


def facts():
    """Names by kind: what torch has, what is missing, what stands in `__all__` and not in torch's."""
    operators = json.loads(subprocess.run([sys.executable, "-c", ASK_TORCH], capture_output=True, text=True, check=True).stdout)
    there, public = json.loads(subprocess.run([sys.executable, "-c", ASK_KINDLING], input=json.dumps(sorted(operators)), capture_output=True,
                                              text=True, check=True).stdout)
    missing = sorted(set(operators) - set(there))
    return {
        "names": len(operators), "others": sum(not kind for kind in operators.values()),
        "missing": [name for name in missing if not operators[name]],
        "missing_operators": [name for name in missing if operators[name]],
        "not_public": sorted(set(there) - set(public)), "beyond": sorted(set(public) - set(operators)),
    }


def table(found):
    count, missing = found["others"], found["missing"]
    text = f"""# Names of `torch` that are not there

Made by `python tools/names.py docs/missing-names.md`, which compares `torch.__all__` of PyTorch 2.13 with Kindling's.

Of {found['names']} names, {count} are no operators; {count - len(missing)} of these ({100 * (count - len(missing)) / count:.1f}%) are there.
A name that only raises counts as missing.

| name | why |
| --- | --- |
"""
    text += "".join(f"| `{name}` | {REASONS[name]} |\n" for name in missing)
    text += f"""
There as types only, for `isinstance`, as PyTorch cannot make objects of them from Python either; their objects come with scripts:
{', '.join(f'`{name}`' for name in TYPES_ONLY)}.

There as dtypes that say what they are (size, sign, name, `finfo`), but no tensor can have them yet: `complex32`, the float8, float4, bits,
quantised and sub-byte integer dtypes.

## Operators

{len(found['missing_operators'])} of {found['names'] - count}:

"""
    return text + "".join(f"- `{name}`: not yet\n" for name in found["missing_operators"])


def main(argv):
    found = facts()
    if argv == ["--json"]:
        print(json.dumps(found))
        return 0
    wrong = sorted(set(found["missing"]) ^ set(REASONS))
    if wrong:
        print("without a reason, or with one that is not needed:", *wrong, file=sys.stderr)
        return 1
    with open(argv[0], "w") as file:
        file.write(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
