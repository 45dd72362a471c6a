# Shared by ./run and ./test: find an interpreter and a compiler that will do, and install from the source folder.
# Sourced by bash; nothing here needs a terminal, root, or more than the interpreter's own modules.

# Sets PYTHON to a CPython 3.10 to 3.13 with venv and C headers. $PYTHON, where set, is the only candidate.
find_python() {
    local candidate seen=""
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.10}; do
        if ! command -v "$candidate" >/dev/null; then
            seen+="  $candidate is not there"$'\n'
            continue
        fi
        candidate=$(command -v "$candidate")
        local answer
        answer=$("$candidate" - 2>&1 <<'PY'
import os, sys, sysconfig
if not (3, 10) <= sys.version_info < (3, 14) or sys.implementation.name != "cpython":
    sys.exit("is %s %s" % (sys.implementation.name, sys.version.split()[0]))
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit("has no C headers (Python.h)")
try:
    import ensurepip, venv
except ImportError as error:
    sys.exit("has no %s" % error.name)
PY
        ) && { PYTHON=$candidate; return 0; }
        seen+="  $candidate ${answer##*$'\n'}"$'\n'
    done
    printf 'Kindling needs CPython 3.10 to 3.13 with headers and venv (or set PYTHON); looked at:\n%s' "$seen" >&2
    exit 1
}

# Sets and exports CXX to a g++ of version 12 or later. $CXX, where set, is the only candidate.
find_compiler() {
    local candidate version seen=""
    for candidate in ${CXX:-g++ g++-12 g++-13 g++-14 g++-15}; do
        if ! version=$($candidate -dumpfullversion -dumpversion 2>/dev/null); then
            seen+="  $candidate is not there"$'\n'
            continue
        fi
        if [ "${version%%.*}" -ge 12 ]; then
            export CXX=$candidate
            return 0
        fi
        seen+="  $candidate is version $version"$'\n'
    done
    printf 'Kindling needs g++ 12 or later (or set CXX); looked at:\n%s' "$seen" >&2
    exit 1
}

# install_package PYTHON ROOT [PIP-OPTION...]: an ordinary, isolated installation from the source folder. Settings of the
# build go through SKBUILD_... variables: an option for them is not in every pip that an interpreter brings along.
install_package() {
    local python=$1 root=$2
    shift 2
    env -u PYTHONPATH -u PIP_TARGET -u PIP_PREFIX -u PIP_USER \
        "$python" -m pip --disable-pip-version-check install --no-input "$@" "$root"
}

# A word that changes when anything that goes into the package changes.
source_stamp() {
    (
        cd "$1"
        find . \( -path './.*' -o -path './build*' -o -path ./out -o -path ./dist -o -path ./tests -o -path ./benchmarks \
            -o -path ./docs -o -path ./examples -o -path ./run -o -path ./test -o -name __pycache__ \) ! -name . -prune -o -type f -print0 |
            LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
    )
}
