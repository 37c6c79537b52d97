// Every number that a person reads is written here, letter for letter as
// src/analysis/present/format.cc writes it in the terminal.
import type { Estimate } from "../data";

export type Quantity = "bytes" | "objects";

/** An estimate in two parts, so that tables can align them: "812 MiB", "± 25". */
export interface Figure {
  value: string;
  /** Empty when exact or when `value` is already a limit. */
  error: string;
}

interface Limits {
  lo: number;
  hi: number;
}

interface Scale {
  factor: number;
  name: string;
}

type Rounding = "nearest" | "down" | "up";

const SYMMETRIC = 0.15;
const MAX_DECIMALS = 3;
const WRITTEN_OUT = 1e4;
const BYTE_SCALES: Scale[] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].map((name, i) => ({
  factor: 2 ** (10 * i),
  name,
}));
const COUNT_SCALES: Scale[] = ["", "k", "M", "G", "T"].map((name, i) => ({
  factor: 10 ** (3 * i),
  name,
}));

function scaleOf(value: number, quantity: Quantity): Scale {
  const scales = quantity === "bytes" ? BYTE_SCALES : COUNT_SCALES;
  // 1023.5 KiB would round to "1024 KiB"; counts are written out up to 9,999.
  if (quantity === "objects" && value < WRITTEN_OUT) return scales[0]!;
  const share = quantity === "bytes" ? 1023.5 / 1024 : 1;
  let i = 0;
  while (i + 1 < scales.length && value >= share * scales[i + 1]!.factor) ++i;
  return scales[i]!;
}

function naturalDecimals(scaled: number, scale: Scale): number {
  if (scale.factor === 1) return 0;
  if (scaled < 9.995) return 2;
  return scaled < 99.95 ? 1 : 0;
}

function errorDecimals(error: number, scale: Scale): number {
  if (scale.factor === 1 || !(error > 0)) return 0;
  return Math.min(Math.max(1 - Math.floor(Math.log10(error)), 0), MAX_DECIMALS);
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number halfway between two goes to the even one, as in C: toFixed() goes up. */
function fixed(value: number, decimals: number): string {
  const steps = value * 10 ** decimals;
  const low = Math.floor(steps);
  if (steps - low !== 0.5) return value.toFixed(decimals);
  return ((low % 2 === 0 ? low : low + 1) / 10 ** decimals).toFixed(decimals);
}

function number(scaled: number, decimals: number, rounding: Rounding): string {
  if (!Number.isFinite(scaled)) return "?";
  const power = 10 ** decimals;
  // The slack keeps 2.5 from becoming 2.6 because of 2.5000000000000004.
  if (rounding === "up") scaled = Math.ceil(scaled * power * (1 - 1e-12)) / power;
  if (rounding === "down") scaled = Math.floor(scaled * power * (1 + 1e-12)) / power;
  return decimals === 0 ? grouped(fixed(scaled, 0)) : fixed(scaled, decimals);
}

function withUnit(text: string, scale: Scale): string {
  return scale.name === "" ? text : `${text} ${scale.name}`;
}

function natural(value: number, quantity: Quantity, rounding: Rounding): string {
  const scale = scaleOf(value, quantity);
  const scaled = value / scale.factor;
  return withUnit(number(scaled, naturalDecimals(scaled, scale), rounding), scale);
}

/** Whether nothing of it is uncertain. */
export function isExact(estimate: Limits & { value: number }): boolean {
  return estimate.hi - estimate.lo <= 1e-9 * Math.max(1, estimate.value);
}

/** A known number of bytes: "12.58 GiB", "512 KiB". */
export function exactBytes(bytes: number): string {
  const scale = scaleOf(bytes, "bytes");
  const scaled = bytes / scale.factor;
  const decimals =
    scaled === Math.floor(scaled)
      ? 0
      : Math.min(Math.max(naturalDecimals(scaled, scale) + 1, 0), 2);
  return withUnit(number(scaled, decimals, "nearest"), scale);
}

/** "1,234,567". */
export function exactCount(count: number): string {
  return grouped(Math.max(0, Math.round(count)).toFixed(0));
}

/** "1 sample", "2,000 samples". */
export function plural(count: number, singular: string): string {
  return `${exactCount(count)} ${singular}${count === 1 ? "" : "s"}`;
}

/** A bound, rounded up: "1.9 MiB". */
export function boundBytes(bytes: number): string {
  return natural(bytes, "bytes", "up");
}

/** "34.5 MiB to 62.6 MiB", rounded outwards. */
export function limitsText({ lo, hi }: Limits, quantity: Quantity): string {
  return `${natural(Math.max(0, lo), quantity, "down")} to ${natural(hi, quantity, "up")}`;
}

function exactValue(value: number, quantity: Quantity): string {
  return quantity === "bytes" ? exactBytes(Math.max(0, Math.round(value))) : exactCount(value);
}

function plusMinus(estimate: Estimate, quantity: Quantity): Figure {
  const half = Math.max(estimate.value - estimate.lo, estimate.hi - estimate.value);
  const scale = scaleOf(estimate.value, quantity);
  const decimals = errorDecimals(half / scale.factor, scale);
  const value = number(estimate.value / scale.factor, decimals, "nearest");
  return {
    value: withUnit(value, scale),
    error: `± ${number(half / scale.factor, decimals, "up")}`,
  };
}

function withLimits(estimate: Estimate, quantity: Quantity): Figure {
  const scale = scaleOf(estimate.value, quantity);
  const isOneUnit =
    scaleOf(estimate.lo, quantity) === scale && scaleOf(estimate.hi, quantity) === scale;
  const value = natural(estimate.value, quantity, "nearest");
  if (!isOneUnit) {
    const lo = natural(estimate.lo, quantity, "down");
    return { value, error: `[${lo}, ${natural(estimate.hi, quantity, "up")}]` };
  }
  const decimals = naturalDecimals(estimate.value / scale.factor, scale);
  const lo = number(estimate.lo / scale.factor, decimals, "down");
  return { value, error: `[${lo}, ${number(estimate.hi / scale.factor, decimals, "up")}]` };
}

/** The estimate as text. */
export function figure(estimate: Estimate, quantity: Quantity): Figure {
  if (isExact(estimate)) return { value: exactValue(estimate.value, quantity), error: "" };
  if (estimate.samples > 0 || (estimate.open ?? 0) > 0) {
    const below = estimate.value - estimate.lo;
    const above = estimate.hi - estimate.value;
    return Math.abs(above - below) <= SYMMETRIC * Math.max(above, below)
      ? plusMinus(estimate, quantity)
      : withLimits(estimate, quantity);
  }
  const limit = `< ${natural(estimate.hi - estimate.exact, quantity, "up")}`;
  if (estimate.exact <= 0) return { value: limit, error: "" };
  return { value: exactValue(estimate.exact, quantity), error: `exact + ${limit}` };
}

function withSign(digits: string, value: number): string {
  // What rounds to nothing has no sign.
  if (!/[1-9?]/.test(digits)) return digits;
  return (value < 0 ? "-" : "+") + digits;
}

function signedLimit(scaled: number, decimals: number, isUpper: boolean): string {
  const isOutward = isUpper === scaled >= 0;
  return withSign(number(Math.abs(scaled), decimals, isOutward ? "up" : "down"), scaled);
}

/** A change of bytes: "+128 MiB ± 17", "-12.0 MiB [-14.2, -9.9]". */
export function changeFigure(value: number, limits: Limits): Figure {
  const largest = Math.max(value - limits.lo, limits.hi - value);
  const scale = scaleOf(Math.max(Math.abs(value), largest), "bytes");
  const scaled = value / scale.factor;
  const below = scaled - limits.lo / scale.factor;
  const above = limits.hi / scale.factor - scaled;
  const half = Math.max(below, above);
  const text = (decimals: number) =>
    withUnit(withSign(number(Math.abs(scaled), decimals, "nearest"), scaled), scale);
  const decimals = naturalDecimals(Math.max(Math.abs(scaled), half), scale);
  if (!(half > 1e-9 * Math.abs(scaled))) {
    return { value: text(scale.factor === 1 ? 0 : Math.min(decimals + 1, 2)), error: "" };
  }
  if (Math.abs(above - below) <= SYMMETRIC * half) {
    const shown = errorDecimals(half, scale);
    return { value: text(shown), error: `± ${number(half, shown, "up")}` };
  }
  const lo = signedLimit(limits.lo / scale.factor, decimals, false);
  const hi = signedLimit(limits.hi / scale.factor, decimals, true);
  return { value: text(decimals), error: `[${lo}, ${hi}]` };
}

/** Sides of an interval of a share that differ by less are one ±. */
const SHARE_SYMMETRIC = 0.2;

/** Part of a whole, 0..1: "42 % ± 3", "6.4 % ± 0.2", "95 % [86, 99]", "< 1.8 %". */
export function shareFigure(share: Limits & { value: number }): Figure {
  const value = 100 * share.value;
  const [lo, hi] = [100 * share.lo, 100 * share.hi];
  const half = Math.max(value - lo, hi - value);
  if (share.hi < 0.001 && value > 0) return { value: "< 0.1 %", error: "" };
  if (value === 0 && half > 0) {
    return { value: `< ${number(half, half < 9.95 ? 1 : 0, "up")} %`, error: "" };
  }
  if (!(half > 1e-9)) return { value: `${value.toFixed(value < 9.95 ? 1 : 0)} %`, error: "" };
  const decimals = value < 9.95 || half < 0.95 ? 1 : 0;
  const shown = `${value.toFixed(decimals)} %`;
  const isBoth = Math.abs(hi + lo - 2 * value) < SHARE_SYMMETRIC * half;
  if (isBoth && value - half >= 0 && value + half <= 100) {
    return { value: shown, error: `± ${number(half, half < 9.95 ? decimals : 0, "up")}` };
  }
  // 99.6 must not read as all of it, nor above its own upper limit.
  const isNearlyAll = hi > 99 && hi < 100;
  const below = number(lo, decimals, "down");
  const error = `[${below}, ${number(hi, isNearlyAll ? 1 : decimals, "up")}]`;
  if (!isNearlyAll || value < 99.5) return { value: shown, error };
  return { value: `${number(value, 1, "down")} %`, error };
}

/** "812 MiB ± 25". */
export function textOf(shown: Figure): string {
  return shown.error === "" ? shown.value : `${shown.value} ${shown.error}`;
}

function significant(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A length of time: "850 ms", "12.4 s", "3 min 12 s", "2 h 05 min". */
export function duration(nanoseconds: number): string {
  const seconds = nanoseconds / 1e9;
  if (nanoseconds < 1000) return `${Math.round(nanoseconds)} ns`;
  if (seconds < 0.9995e-3) return `${significant(seconds * 1e6)} us`;
  if (seconds < 0.9995) return `${significant(seconds * 1e3)} ms`;
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (part: number) => String(Math.floor(part)).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two((whole % 3600) / 60)} min`;
}

/** "95 %". */
export function levelText(level: number): string {
  return `${Number((level * 100).toPrecision(6))} %`;
}

function oneDigit(value: number): string {
  const [mantissa, exponent] = value.toExponential(0).split("e");
  return `${mantissa}e${Number(exponent) < 0 ? "-" : "+"}${exponent!.slice(1).padStart(2, "0")}`;
}

/** A probability: "0.04", "0.003", "2e-05", "< 1e-12". */
export function probability(p: number): string {
  if (p < 1e-12) return "< 1e-12";
  if (p < 0.001) return oneDigit(p);
  return p < 0.0995 ? String(Number(p.toPrecision(1))) : p.toFixed(2);
}

/** With its symbol: "q = 0.04", "q < 1e-12". */
export function probabilityOf(symbol: string, p: number): string {
  const text = probability(p);
  return `${symbol} ${text.startsWith("<") ? text : `= ${text}`}`;
}
