// Calls functions of the page's arithmetic, as WebAssembly computes it: tests/arithmetic_calls.cc says how.
//
//   npx vite-node tests/calls.ts <CALLS >ANSWERS    (a file: of a pipe, vite-node exits too early)
import { text as readAll } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { COMPILED } from "../src/numbers/compiled";

const module = new WebAssembly.Module(new Uint8Array(gunzipSync(Buffer.from(COMPILED, "base64"))));
const imports = WebAssembly.Module.imports(module).map(({ name }) => [name, () => 0]);
const { exports } = new WebAssembly.Instance(module, {
  wasi_snapshot_preview1: Object.fromEntries(imports),
});
const functions = exports as Record<string, () => number>;
const memory = () => (exports.memory as WebAssembly.Memory).buffer;

const decoder = new TextDecoder();
const lines = (await readAll(process.stdin)).trimEnd().split("\n");
const answers = lines.map((line) => {
  const [name, results, ...given] = line.split(" ");
  const bits = new BigUint64Array(memory(), functions.numbers_area!());
  given.forEach((number, i) => (bits[i] = BigInt(`0x${number}`)));
  functions[name!]!();
  const left = new BigUint64Array(memory(), functions.numbers_area!());
  if (results !== "0") return Array.from(left.subarray(0, Number(results)), (one) => one.toString(16)).join(" ");
  const [length] = new Float64Array(memory(), functions.numbers_area!());
  const text = decoder.decode(new Uint8Array(memory(), functions.text_area!(), length));
  return text.replace("\n", "|");
});
console.log(answers.join("\n"));
