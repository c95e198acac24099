// SPDX-License-Identifier: MIT
// Work for node: JSON, buffers, zlib and hashes on the thread pool, worker threads, children, garbage collection.
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createHash, scrypt } from 'node:crypto';
import { gzip, gunzip, brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const digest = (data) => createHash('sha256').update(data).digest('hex').slice(0, 16);
let seed = 1;
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed % below;
};

function tree(depth) {
  if (depth === 0) return [null, true, random(1e9), 'é'.repeat(random(40))][random(4)];
  if (random(2)) return Array.from({ length: random(7) }, () => tree(depth - 1));
  return Object.fromEntries(Array.from({ length: random(7) }, (_, i) => [`key${i}`, tree(depth - 1)]));
}

function bufferWork(start, rounds) {
  seed = start;
  const live = [];
  const hash = createHash('sha256');
  for (let i = 0; i < rounds; i++) {
    const size = 1 + random(i % 50 === 0 ? 400000 : 9000);
    const buffer = i % 2 ? Buffer.alloc(size, i & 255) : Buffer.allocUnsafeSlow(size).fill(`${i}`);
    live.push(buffer);
    if (live.length > 200) hash.update(live.splice(random(live.length), 1)[0].subarray(0, 512));
    if (i % 500 === 0) globalThis.gc?.();
  }
  return hash.update(Buffer.concat(live)).digest('hex').slice(0, 16);
}

if (!isMainThread) {
  const answer = bufferWork(workerData, 1500);
  const shared = new Uint8Array(new ArrayBuffer(100000)).fill(workerData);
  parentPort.postMessage({ answer, shared }, [shared.buffer]); // freed by the other thread
} else {
  const value = Array.from({ length: 150 }, () => tree(6));
  const text = JSON.stringify(value);
  console.log('json', text.length, digest(text), digest(JSON.stringify(JSON.parse(text), null, 2)));
  console.log('buffers', bufferWork(5, 4000));

  const packed = await Promise.all(Array.from({ length: 12 }, async (_, i) => {
    const data = Buffer.from(text.slice(0, 20000 * (i + 1)));
    const back = await promisify(gunzip)(await promisify(gzip)(data));
    return digest(back) === digest(data) ? digest(brotliDecompressSync(brotliCompressSync(data.subarray(0, 30000)))) : 'bad';
  }));
  console.log('zlib', packed.join(' '));
  const keys = await Promise.all([1, 2, 3].map((i) => promisify(scrypt)('key', `salt${i}`, 32, { N: 2048 })));
  console.log('scrypt', keys.map((key) => key.toString('hex').slice(0, 12)).join(' '));

  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all([1, 2, 3, 4].map((n) => new Promise((resolve, reject) => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: n });
      worker.once('message', ({ answer, shared }) => resolve(`${answer}:${shared.reduce((a, b) => a + b, 0)}`));
      worker.once('error', reject);
    })));
    console.log('workers', answers.join(' '));
  }

  const children = await Promise.all([1, 2, 3].map((n) =>
    promisify(execFile)(process.execPath, ['-e', `console.log(require('crypto').createHash('md5').update('${n}'.repeat(9e5)).digest('hex'))`])));
  console.log('children', children.map((child) => child.stdout.trim()).join(' '));

  const folder = await mkdtemp('files-');
  await Promise.all(Array.from({ length: 40 }, (_, i) => writeFile(`${folder}/${i}`, text.slice(i, i * 1000))));
  const read = await Promise.all(Array.from({ length: 40 }, (_, i) => readFile(`${folder}/${i}`)));
  console.log('files', digest(Buffer.concat(read)));
  await rm(folder, { recursive: true });
}
