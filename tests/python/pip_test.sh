#!/usr/bin/env bash
# Installs the package with pip, without an index, into a fresh environment from a copy of the tree that
# it may not write to, and trains with two ranks of it.
#
# Usage: pip_test.sh SOURCE_DIRECTORY SYNCOPATE_COMMAND PYTHON
set -euo pipefail

source=$(realpath "$1")
command=$(realpath "$2")
python=$3
tests=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch"; exit 77; }
"$python" -m venv --system-site-packages "$work/venv" >/dev/null ||
  { echo "skipped: $python makes no environment (Debian: python3-venv)"; exit 77; }

# Not what was built or fetched, nor what git keeps.
mkdir "$work/tree"
tar -C "$source" --exclude=./{build,data,out,runs,.git} --exclude=__pycache__ --exclude='*.so' -cf - . |
  tar -C "$work/tree" -xf -
listing() { (cd "$work/tree" && find . -type f -exec sha256sum {} + | sort; find . -type d | sort); }
before=$(listing)
chmod -R a-w "$work/tree"

# From here on nothing of the tree is found by chance.
unset PYTHONPATH SYNCOPATE_C_LIBRARY
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
cd "$work"
venv/bin/python -m pip install --quiet --no-index ./tree || fail "pip could not install the package"
[[ $(listing) == "$before" ]] || fail "pip has changed the tree: $(diff <(echo "$before") <(listing))"

installed=$(venv/bin/python -c 'import syncopate; print(syncopate.__file__)')
[[ $installed == "$work"/venv/* ]] || fail "the package was imported from $installed"
told=$(venv/bin/python - <<'EOF'
from importlib.metadata import distribution
import syncopate
package = distribution('syncopate')
found = [f'{entry.group} {entry.value}' for entry in package.entry_points]
print(package.version == syncopate.__version__, found, package.requires)
EOF
)
[[ $told == "True ['torch.distributed.backends syncopate.c10d:register'] None" ]] ||
  fail "the package says of itself: $told"

library=$(dirname "$installed")/libsyncopate_c.so
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so|libm\.so|ld-linux)' || true)
[[ -z $needed ]] || fail "the library needs more than libc and libm: $needed"
# Compilers and CMake work in folders of their own under TMPDIR, so /tmp is looked for as well.
paths=$(strings "$library" | grep -E "^/(tmp|home|root|work)/|$work|$source" || true)
[[ -z $paths ]] || fail "the library remembers where it was made: $paths"

cp "$tests/pip_training.py" elsewhere.py
alone=$(OMP_NUM_THREADS=1 venv/bin/python elsewhere.py)
[[ $alone == "of 1 ranks: "* ]] || fail "alone it printed: $alone"
together=$(OMP_NUM_THREADS=1 "$command" run -n 2 -- venv/bin/python elsewhere.py)
[[ $(grep -c 'of 2 ranks: ' <<<"$together") == 2 ]] || fail "two ranks printed: $together"
[[ $(grep -o 'of 2 ranks: .*' <<<"$together" | sort -u | wc -l) == 1 ]] ||
  fail "the replicas of two ranks differ: $together"

# Without what it takes, pip says so in a sentence.
mkdir bare
if said=$(PATH=$work/bare "$work/venv/bin/python" -m pip install --no-index --no-deps --force-reinstall ./tree 2>&1); then
  fail "the package was installed without CMake"
fi
[[ $said == *"CMake was not found"* ]] || fail "without CMake pip printed: $said"
echo "installed by pip without an index, and two ranks of it have trained the same model"
