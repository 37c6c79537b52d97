// The incomplete gamma and beta functions and their inverses, to nearly all digits of a double:
// what src/estimation takes from Boost.Math. Libraries for the browser bring ten times the code.

const LANCZOS_G = 7;
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
];
const EPSILON = 1e-17;
const TINY = 1e-300;

/** From here on Stirling's series has all digits. */
const STIRLING = 10;

/** ln(Gamma(x) / sqrt(2 pi / x) / (x / e)^x), x >= STIRLING. */
function stirlingError(x: number): number {
  const s = 1 / (x * x);
  const series =
    1 / 12 -
    s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * (691 / 360360 - s / 156)))));
  return series / x;
}

/** ln Gamma(x), x > 0. */
export function logGamma(x: number): number {
  if (x >= STIRLING) {
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + stirlingError(x);
  }
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const t = x - 1;
  let sum = LANCZOS[0]!;
  for (let i = 1; i < LANCZOS.length; ++i) sum += LANCZOS[i]! / (t + i);
  const base = t + LANCZOS_G + 0.5;
  return 0.5 * Math.log(2 * Math.PI) + (t + 0.5) * Math.log(base) - base + Math.log(sum);
}

/** ln(1 + d) - d without cancellation. */
function log1pMinus(d: number): number {
  if (Math.abs(d) > 0.3) return Math.log1p(d) - d;
  // ln((1 + r) / (1 - r)) with r = d / (2 + d), of which 2 r is taken out.
  const r = d / (2 + d);
  const square = r * r;
  let term = r * square;
  let sum = 0;
  for (let n = 3; Math.abs(term) > 1e-18 * Math.abs(r * d); n += 2) {
    sum += (2 * term) / n;
    term *= square;
  }
  return sum - r * d;
}

/** x^a e^-x / Gamma(a): density of the gamma law times x. */
function gammaPrefix(a: number, x: number): number {
  if (a < STIRLING) return Math.exp(a * Math.log(x) - x - logGamma(a));
  const exponent = a * log1pMinus((x - a) / a) - stirlingError(a);
  return Math.exp(exponent) * Math.sqrt(a / (2 * Math.PI));
}

function gammaSeries(a: number, x: number): number {
  let term = 1 / a;
  let sum = term;
  for (let n = a + 1; term > sum * EPSILON; ++n) {
    term *= x / n;
    sum += term;
  }
  return sum;
}

/** Lentz's algorithm for the continued fraction of Q(a, x) / prefix. */
function gammaFraction(a: number, x: number): number {
  let b = x + 1 - a;
  let c = 1 / TINY;
  let d = 1 / (b || TINY);
  let h = d;
  for (let i = 1; i < 100000; ++i) {
    const factor = -i * (i - a);
    b += 2;
    d = 1 / (factor * d + b || TINY);
    c = b + factor / c || TINY;
    const change = d * c;
    h *= change;
    if (Math.abs(change - 1) < 1e-16) break;
  }
  return h;
}

interface Sides {
  /** P(X <= x). */
  below: number;
  /** P(X > x). */
  above: number;
}

/** Both tails of the gamma law of shape `a` > 0 and scale 1; the smaller one keeps its digits. */
export function gammaTails(a: number, x: number): Sides {
  if (!(x > 0)) return { below: 0, above: 1 };
  if (x < a + 1) {
    const below = gammaPrefix(a, x) * gammaSeries(a, x);
    return { below, above: 1 - below };
  }
  const above = gammaPrefix(a, x) * gammaFraction(a, x);
  return { below: 1 - above, above };
}

/** z with P(Z > z) = p of the standard normal law, p in (0, 1). */
export function upperNormalQuantile(p: number): number {
  if (p > 0.5) return -upperNormalQuantile(1 - p);
  // Start of Abramowitz and Stegun 26.2.23, then Newton's steps on ln Q, which is nearly parabolic.
  const t = Math.sqrt(-2 * Math.log(p));
  let z =
    t -
    (2.515517 + t * (0.802853 + t * 0.010328)) /
      (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (let i = 0; i < 4; ++i) {
    const above = normalAbove(z);
    const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
    z += (above / density) * Math.log(above / p);
  }
  return p === 0.5 ? 0 : z;
}

/** P(Z > z) of the standard normal law: half of the gamma law's of shape 1/2 at z^2/2. */
export function normalAbove(z: number): number {
  const tails = gammaTails(0.5, (z * z) / 2);
  return z >= 0 ? tails.above / 2 : (1 + tails.below) / 2;
}

/** Root by Newton's steps held in a bracket. `step` gives what to add to x, its sign is right. */
function polished(start: number, step: (x: number) => number): number {
  let low = 0;
  let high = Infinity;
  let x = start;
  for (let i = 0; i < 200; ++i) {
    const change = step(x);
    if (!(Math.abs(change) > 4e-16 * x)) return x;
    if (change > 0) low = x;
    else high = x;
    let next = x + change;
    if (!(next > low && next < high)) next = high === Infinity ? 2 * x : (low + high) / 2;
    if (next === x) return x;
    x = next;
  }
  return x;
}

/** x with P(X <= x) = p (or P(X > x) = p if `isUpper`) for shape `a` and scale 1. */
export function gammaQuantile(a: number, p: number, isUpper: boolean): number {
  const z = isUpper ? upperNormalQuantile(p) : -upperNormalQuantile(p);
  const lower = isUpper ? 1 - p : p;
  const cube = 1 - 1 / (9 * a) + z / (3 * Math.sqrt(a));
  let start = a * cube * cube * cube;
  // Near 0, P(X <= x) is x^a / Gamma(a + 1): exact where the law has collapsed there.
  const logSmall = (Math.log(lower) + logGamma(a + 1)) / a;
  if (logSmall < -30) return Math.exp(logSmall);
  if (!(cube > 0.2) || a < 0.6) start = Math.exp(Math.min(logSmall, 2));
  return polished(start, (x) => {
    const tails = gammaTails(a, x);
    const density = gammaPrefix(a, x) / x;
    // Newton on the logarithm of the smaller side converges from far out in either tail.
    if (isUpper) return (tails.above / density) * Math.log(tails.above / p);
    return (-tails.below / density) * Math.log(tails.below / p);
  });
}

function logBeta(a: number, b: number): number {
  const small = Math.min(a, b);
  const large = Math.max(a, b);
  if (large < STIRLING) return logGamma(a) + logGamma(b) - logGamma(a + b);
  // ln(Gamma(large) / Gamma(large + small)) by Stirling, with the large terms taken out.
  const sum = small + large;
  const ratio =
    stirlingError(large) -
    stirlingError(sum) -
    small * Math.log(sum) +
    small -
    (large - 0.5) * Math.log1p(small / large);
  return logGamma(small) + ratio;
}

/** x^a (1 - x)^b / B(a, b), with y = 1 - x given apart. */
function betaPrefix(a: number, b: number, x: number, y: number): number {
  if (a < STIRLING || b < STIRLING) {
    return Math.exp(a * Math.log(x) + b * Math.log(y) - logBeta(a, b));
  }
  const sum = a + b;
  const deviation = a * log1pMinus((x * sum - a) / a) + b * log1pMinus((y * sum - b) / b);
  const errors = stirlingError(sum) - stirlingError(a) - stirlingError(b);
  return Math.exp(deviation + errors) * Math.sqrt((a * (b / sum)) / (2 * Math.PI));
}

function betaFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1) || TINY);
  let h = d;
  for (let m = 1; m < 200000; ++m) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d || TINY);
    c = 1 + even / c || TINY;
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d || TINY);
    c = 1 + odd / c || TINY;
    const change = d * c;
    h *= change;
    if (Math.abs(change - 1) < 1e-16) break;
  }
  return h;
}

/** Both tails of the beta law, x + y = 1. */
export function betaTails(a: number, b: number, x: number, y: number): Sides {
  if (!(x > 0)) return { below: 0, above: 1 };
  if (!(y > 0)) return { below: 1, above: 0 };
  const prefix = betaPrefix(a, b, x, y);
  if (x < (a + 1) / (a + b + 2)) {
    const below = (prefix * betaFraction(a, b, x)) / a;
    return { below, above: 1 - below };
  }
  const above = (prefix * betaFraction(b, a, y)) / b;
  return { below: 1 - above, above };
}

/** The odds x / (1 - x) with P(X <= x) = p for a beta law: odds keep their digits at both ends. */
export function betaQuantileOdds(a: number, b: number, p: number): number {
  // Newton's steps in the logarithm of the odds, from the normal law of that logarithm.
  let low = -Infinity;
  let high = Infinity;
  let t = Math.log(a / b) - upperNormalQuantile(p) * Math.sqrt(1 / a + 1 / b);
  for (let i = 0; i < 300; ++i) {
    const x = 1 / (1 + Math.exp(-t));
    const y = 1 / (1 + Math.exp(t));
    const tails = betaTails(a, b, x, y);
    const density = betaPrefix(a, b, x, y);
    const change =
      tails.below < tails.above || p < 0.5
        ? (-tails.below / density) * Math.log(tails.below / p)
        : (tails.above / density) * Math.log(tails.above / (1 - p));
    if (Math.abs(change) < 1e-15 * Math.max(1, Math.abs(t))) break;
    if (change > 0) low = t;
    else high = t;
    let next = t + change;
    if (!(next > low && next < high)) next = (Math.max(low, t - 50) + Math.min(high, t + 50)) / 2;
    if (next === t) break;
    t = next;
  }
  return Math.exp(t);
}
