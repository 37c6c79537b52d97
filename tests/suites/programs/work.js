// Worker threads that compress and hash, and a child process.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib');
const crypto = require('crypto');
const { execFileSync } = require('child_process');

if (!isMainThread) {
  let sum = 0;
  for (let i = 0; i < 20; i++) {
    const text = Buffer.alloc(50000, `${workerData} ${i}`);
    sum += zlib.gzipSync(text).length + zlib.brotliCompressSync(text).length;
  }
  const hash = crypto.createHash('sha256').update(String(sum)).digest('hex');
  const key = crypto.pbkdf2Sync('secret', hash, 2000, 32, 'sha512').toString('hex');
  parentPort.postMessage(`${workerData} ${sum} ${key}`);
} else {
  const lines = [];
  for (let i = 0; i < 8; i++) {
    new Worker(__filename, { workerData: i }).on('message', (line) => lines.push(line));
  }
  // Printed when nothing is pending any more: lines come in any order.
  process.on('beforeExit', () => {
    if (lines.length === 0) return;
    lines.push(execFileSync('/bin/sh', ['-c', 'echo child']).toString().trim());
    console.log(lines.sort().join('\n'));
    process.exit(5);
  });
  zlib.gzip(Buffer.alloc(1 << 20, 'x'), (error, data) => lines.push(`pool ${data.length}`));
  crypto.scrypt('a', 'b', 64, (error, key) => lines.push(`scrypt ${key.toString('hex')}`));
}
