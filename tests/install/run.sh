#!/usr/bin/env bash
# Installs a build tree under a temporary prefix and moves it, builds main.cpp outside the tree
# with find_package and with pkg-config, and main.c with the C API, and runs them alone and under
# `syncopate run`. The plug-ins for MPI are loaded from there as well, and so is the Python package.
#
# Usage: run.sh BUILD_DIRECTORY    (CXX and CC name the compilers, default c++ and cc; PYTHON one that
#                                  has torch)
set -euo pipefail

build=$(realpath "$1")
source=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Moved after the installation: nothing in it may remember where it was put.
cmake --install "$build" --prefix "$work/first" >/dev/null
mv first prefix
prefix=$work/prefix
pc=$(find "$prefix" -name syncopate.pc)
[[ -n $pc ]] || fail "syncopate.pc is not installed"
[[ -x $prefix/bin/syncopate ]] || fail "the syncopate command is not installed"
[[ -z $(find "$prefix/include" -type f ! -path '*/include/syncopate/*.h' ! -path '*/include/syncopate.h') ]] ||
  fail "something other than the public headers is under include"
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

mkdir user
cp "$source"/{main.cpp,CMakeLists.txt} user/
cmake -S user -B by-cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="${CXX:-c++}" >/dev/null
cmake --build by-cmake >/dev/null

read -ra flags <<<"$(pkg-config --cflags --libs syncopate)"
"${CXX:-c++}" -std=c++20 user/main.cpp "${flags[@]}" -o by-pkg-config

for program in by-cmake/uses_syncopate ./by-pkg-config; do
  output=$("$program")
  [[ $output == "rank 0 of 1: sum 1, 1 contributors" ]] || fail "$program alone printed: $output"

  output=$("$prefix/bin/syncopate" run -n 3 -- "$program")
  for rank in 0 1 2; do
    [[ $(grep -c "rank $rank of 3: sum 6, 3 contributors" <<<"$output") == 1 ]] ||
      fail "$program under 'syncopate run -n 3' printed: $output"
  done
done
# The C API, by a program in C, which its page shows.
if [[ -e $prefix/include/syncopate.h ]]; then
  diff <(sed -n '/^static/,$p' "$source/main.c") <(sed -n '/^```c$/,/^```$/{/^```/d;p}' "$source/../../docs/c_api.md") ||
    fail "docs/c_api.md does not show main.c"
  "${CC:-cc}" -std=c99 -Wall -Wextra -Werror "$source/main.c" -I "$prefix/include" -L "$(dirname "$PKG_CONFIG_PATH")" \
    -lsyncopate_c -o in-c
  output=$(./in-c)
  [[ $output == "rank 0 of 1: mean 1" ]] || fail "the program in C printed alone: $output"
  output=$("$prefix/bin/syncopate" run -n 3 -- ./in-c)
  [[ $(grep -c 'of 3: mean 2' <<<"$output") == 3 ]] ||
    fail "the program in C under 'syncopate run -n 3' printed: $output"
fi
# The Python package finds the library beside it.
if [[ -n ${PYTHON:-} ]]; then
  package=$(find "$prefix" -path '*/syncopate/__init__.py')
  [[ -n $package ]] || fail "the Python package is not installed"
  output=$(cd / && env -u SYNCOPATE_C_LIBRARY PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="${package%/*/*}" \
    "$PYTHON" -c 'import syncopate; print(syncopate.__file__, syncopate.world())') ||
    fail "the installed Python package cannot be imported: $output"
  [[ $output == "$package <syncopate.World: rank 0 of 1>" ]] || fail "the Python package printed: $output"
fi
# The benchmarks' drivers are there.
for driver in "$build"/bin/peers/*; do
  [[ -e $driver ]] || continue
  [[ -x $prefix/libexec/syncopate/$(basename "$driver") ]] || fail "$driver is not installed"
done
if [[ -x $build/bin/peers/peer_mpich ]] && command -v mpirun.mpich >/dev/null; then
  output=$("$prefix/bin/syncopate" bench allreduce -n 2 --bytes 8 --against mpich --repeat 1 --seconds 0.01)
  grep -q "mpich us" <<<"$output" || fail "'syncopate bench' does not find MPICH's driver: $output"
fi
# The plug-ins are found from where they were moved to, by a program in bin/.
for kind in openmpi mpich; do
  plugin=$(find "$prefix" -name "syncopate_$kind.so")
  if [[ -z $plugin || ! -x $build/bin/fabric_probe ]] || ! command -v mpirun.$kind >/dev/null; then
    continue
  fi
  cp "$build/bin/fabric_probe" "$prefix/bin/"
  run=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "mpirun.$kind" -n 2)
  [[ $kind == mpich ]] || run+=(--oversubscribe)
  output=$("${run[@]}" "$prefix/bin/fabric_probe") || fail "under mpirun.$kind: $output"
  [[ $output == *"rank 1 of 2 on"* ]] || fail "under mpirun.$kind the probe printed: $output"
  rm "$plugin"
  ! "${run[@]}" "$prefix/bin/fabric_probe" >without 2>/dev/null ||
    fail "the installed plug-in for $kind is not the one that was used"
done
echo "installed, found by find_package and by pkg-config, and ran with 1 and 3 ranks"
