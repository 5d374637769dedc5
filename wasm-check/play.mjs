// Plays a replay in WebAssembly: node play.mjs MODULE.wasm FILE
import { readFileSync } from 'node:fs';

const [, , module, file] = process.argv;
const { instance } = await WebAssembly.instantiate(readFileSync(module));
const { memory, alloc, run, text } = instance.exports;

const replay = readFileSync(file);
const at = alloc(replay.length);
new Uint8Array(memory.buffer, at, replay.length).set(replay);
const length = run();
// The memory may have grown meanwhile, which makes earlier views of it useless.
const report = new TextDecoder().decode(new Uint8Array(memory.buffer, text(), Math.abs(length)));
if (length < 0) {
  console.error(`wasm-check: ${report}`);
  process.exit(1);
}
process.stdout.write(report);
