#!/usr/bin/env bash
# Installs a build tree, builds examples/torch_loop.cpp outside the tree with find_package, and runs
# it with 3 ranks.
#
# Usage: torch.sh BUILD_DIRECTORY SOURCE_DIRECTORY    (CXX names the compiler; default c++)
set -euo pipefail

build=$(realpath "$1")
example=$(realpath "$2")/examples/torch_loop.cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cmake --install "$build" --prefix "$work/prefix" >/dev/null
mkdir user
cp "$example" user/
cat >user/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(uses_syncopate_torch LANGUAGES CXX)
find_package(syncopate REQUIRED COMPONENTS torch)
add_executable(torch_loop torch_loop.cpp)
target_link_libraries(torch_loop PRIVATE syncopate::torch)
END
cmake -S user -B outside -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="${CXX:-c++}" >/dev/null
cmake --build outside >/dev/null

output=$("$work/prefix/bin/syncopate" run -n 3 --timeout 60 -- outside/torch_loop)
for rank in 0 1 2; do
  grep -qE "rank $rank of 3: 9[0-9]\.[0-9] % right" <<<"$output" || {
    echo "FAILED: the example printed: $output" >&2
    exit 1
  }
done
[[ $(sed 's/.*: //' <<<"$output" | sort -u | wc -l) == 1 ]] || {
  echo "FAILED: the ranks ended with different models: $output" >&2
  exit 1
}
"$work/prefix/bin/syncopate" workloads >/dev/null
echo "built outside the tree, and learned with 3 ranks"
