// Estimates and their texts by the terminal's own code, compiled to WebAssembly:
// src/analysis/arithmetic/arithmetic.cc is the other side and says what the functions take and leave.
import type { Estimated } from "../data";
import { bytesOf, gunzipped } from "./bytes";
import { COMPILED } from "./compiled";
import { openOf, type Sums } from "./sums";

/** An estimate of the document, or one that the page made. */
export interface Estimate extends Estimated {
  /** Samples whose bytes are not known, in no other field but `hi`. */
  openSamples?: number;
  /** Of objects: too few sizes were seen for an upper limit that says something. */
  hasUnknownSizes?: boolean;
}

export type Quantity = "bytes" | "objects";

/** The total form, or the form of rows that are listed because they were sampled. */
export type Form = "total" | "listed";

export interface Limits {
  lo: number;
  hi: number;
}

/** An estimate, or a part of a whole (0..1), without what it is made from. */
export interface Share extends Limits {
  value: number;
}

/** An estimate in two parts, so that tables can align them: "812 MiB", "± 25". */
export interface Figure {
  value: string;
  /** Empty when exact or when `value` is already a limit. */
  error: string;
}

/** Sums of a whole, and its bytes where they are known exactly. */
export interface Whole {
  whole: Sums;
  exact: number | undefined;
  /** Whether estimates of its parts make use of the exact bytes. */
  calibrates: boolean;
  /** What was counted, of which each part is a part; undefined where that is not known. */
  most: number | undefined;
}

type Function = () => number;
let compiled: Record<string, Function> & { memory: WebAssembly.Memory };
/** Arguments and results, and a text. */
let numbers = new Float64Array(0);
let text = new Uint8Array(0);

/** Views end when the memory grows. */
function look(): void {
  const { memory, numbers_area, text_area } = compiled;
  numbers = new Float64Array(memory.buffer, numbers_area!());
  text = new Uint8Array(memory.buffer, text_area!());
}

async function load(): Promise<void> {
  try {
    const module = await WebAssembly.compile(await gunzipped(bytesOf(COMPILED)).arrayBuffer());
    const imports: WebAssembly.ModuleImports = {};
    // Of the C library; arithmetic calls none of them.
    for (const { name } of WebAssembly.Module.imports(module)) imports[name] = () => 0;
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
    compiled = instance.exports as typeof compiled;
  } catch {
    throw new Error("this browser does not run WebAssembly, in which the page computes");
  }
  look();
}

let loading: Promise<void> | undefined;

/** Before anything else of this file. Throws an Error with a line for the reader. */
export const loadArithmetic = (): Promise<void> => (loading ??= load());

function call(name: string, ...given: (number | boolean | Sums | number[])[]): void {
  let at = 0;
  for (const one of given) {
    if (typeof one === "object") {
      numbers.set(one, at);
      at += one.length;
    } else {
      numbers[at++] = Number(one);
    }
  }
  compiled[name]!();
  if (numbers.length === 0) look();
}

function numberOf(...given: Parameters<typeof call>): number {
  call(...given);
  return numbers[0]!;
}

const decoder = new TextDecoder();

function textFor(...given: Parameters<typeof call>): string {
  call(...given);
  return decoder.decode(text.subarray(0, numbers[0]));
}

function figureOf(...given: Parameters<typeof call>): Figure {
  const [value, error] = textFor(...given).split("\n");
  return { value: value!, error: error! };
}

/** Of a row of sums. */
function estimateOf(sums: Sums, ...given: Parameters<typeof call>): Estimate {
  call(...given);
  const [value, lo, hi, variance, samples, exact, open] = numbers.subarray(0, 7);
  const found: Estimate = {
    value: value!,
    lo: lo!,
    hi: hi!,
    variance: variance!,
    samples: samples!,
    exact: exact!,
  };
  return open! > 0 ? { ...found, open: open!, openSamples: openOf(sums, 0) } : found;
}

function given({ value, lo, hi, variance, samples, exact, open = 0 }: Estimate): number[] {
  return [value, lo, hi, variance, samples, exact, open];
}

function wholeGiven({ whole, exact = -1, calibrates, most = -1 }: Whole): [Sums, number, boolean, number] {
  return [whole, exact, calibrates, most];
}

const isListed = (form: Form) => form === "listed";
const isOfObjects = (quantity: Quantity) => quantity === "objects";

/** Bytes of one row of sums. */
export function estimateBytes(sums: Sums, level: number, form: Form): Estimate {
  return estimateOf(sums, "estimate_bytes", sums, level, isListed(form));
}

/** Objects, given the sizes seen. */
export function estimateObjects(sums: Sums, level: number, form: Form): Estimate {
  const estimate = estimateOf(sums, "estimate_objects", sums, level, isListed(form));
  return numbers[7] === 1 ? estimate : { ...estimate, hasUnknownSizes: true };
}

/** Bytes of a part as they are shown: given what was counted, where that makes them surer. */
export function bytesOfPart(part: Sums, whole: Whole, level: number, form: Form): Estimate {
  return estimateOf(part, "part_bytes", part, ...wholeGiven(whole), level, isListed(form));
}

/** Share of a part in the whole, by its bytes as they are shown. */
export function shareOfPart(part: Sums, whole: Whole, level: number, bytes: Estimate): Share {
  call("share_of", part, ...wholeGiven(whole), level, given(bytes));
  return { value: numbers[0]!, lo: numbers[1]!, hi: numbers[2]! };
}

/** The sums of what is in `whole` and not in `part`. */
export function restOf(part: Sums, whole: Sums): Sums {
  call("rest_of", part, whole);
  return numbers.slice(0, part.length);
}

/** Limit of what leaves no sample. */
export function detectionLimit(largestInterval: number, level: number): number {
  return numberOf("detection_limit", largestInterval, level);
}

/** Whether nothing of it is uncertain. */
export function isExact(estimate: Estimate): boolean {
  return numberOf("is_exact", given(estimate)) === 1;
}

/** Where too few sizes were seen only the bytes have an upper limit that says something. */
export function hasObjectsInterval(bytes: Estimate, objects: Estimate): boolean {
  const { hasUnknownSizes = false } = objects;
  return numberOf("has_objects_interval", given(bytes), given(objects), hasUnknownSizes) === 1;
}

/** Objects as text. */
export function objectsFigure(bytes: Estimate, objects: Estimate): Figure {
  const { hasUnknownSizes = false } = objects;
  return figureOf("objects_figure", given(bytes), given(objects), hasUnknownSizes);
}

/** The estimate as text. */
export function figure(estimate: Estimate, quantity: Quantity): Figure {
  return figureOf("figure", given(estimate), isOfObjects(quantity));
}

/** A change of bytes: "+128 MiB ± 17", "-12.0 MiB [-14.2, -9.9]". */
export function changeFigure(value: number, { lo, hi }: Limits): Figure {
  return figureOf("change_figure", value, lo, hi);
}

/** "42 % ± 3", "6.4 % ± 0.2", "95 % [86, 99]", "< 1.8 %". */
export function shareFigure({ value, lo, hi }: Share): Figure {
  return figureOf("share_figure", value, lo, hi);
}

/** "34.5 MiB to 62.6 MiB", rounded outwards. */
export function limitsText({ lo, hi }: Limits, quantity: Quantity): string {
  return textFor("limits_text", lo, hi, isOfObjects(quantity));
}

/** A known number of bytes: "12.58 GiB", "512 KiB". */
export const exactBytes = (bytes: number): string => textFor("exact_bytes", bytes);

/** "1,234,567". */
export const exactCount = (count: number): string => textFor("exact_count", count);

/** A bound, rounded up: "1.9 MiB". */
export const boundBytes = (bytes: number): string => textFor("bound_bytes", bytes);

/** A length of time: "850 ms", "12.4 s", "3 min 12 s", "2 h 05 min". */
export const duration = (nanoseconds: number): string => textFor("duration", nanoseconds);

/** "95 %". */
export const levelText = (level: number): string => textFor("level_text", level);

/** A probability: "0.04", "0.003", "2e-05", "< 1e-12". */
export const probability = (p: number): string => textFor("probability", p);

/** With its symbol: "q = 0.04", "q < 1e-12". */
export function probabilityOf(symbol: string, p: number): string {
  const shown = probability(p);
  return `${symbol} ${shown.startsWith("<") ? shown : `= ${shown}`}`;
}

/** "812 MiB ± 25". */
export function textOf(shown: Figure): string {
  return shown.error === "" ? shown.value : `${shown.value} ${shown.error}`;
}

/** "1 sample", "2,000 samples". */
export function plural(count: number, singular: string): string {
  return `${exactCount(count)} ${singular}${count === 1 ? "" : "s"}`;
}
