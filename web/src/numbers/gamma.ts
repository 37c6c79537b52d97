// The gamma law named by its mean and standard deviation: src/estimation/distributions/gamma.cc.
import { gammaQuantile, gammaTails, normalAbove, upperNormalQuantile } from "./special";

export interface Gamma {
  mean: number;
  deviation: number;
}

// The limits of gamma.cc, for the same reasons.
const CONSTANT_SHAPE = 1e30;
const VANISHING_SHAPE = 1e-30;
const NORMAL_SHAPE = 1e7;
const LARGEST = Number.MAX_VALUE;

function shapeScale(law: Gamma): { shape: number; scale: number } {
  const ratio = law.mean / law.deviation;
  return { shape: ratio * ratio, scale: law.deviation / ratio };
}

function isConstant(law: Gamma): boolean {
  return !(law.mean > 0) || !(law.deviation > 0) || !(shapeScale(law).shape < CONSTANT_SHAPE);
}

function quantile(law: Gamma, p: number, isUpper: boolean): number {
  if (isConstant(law)) return Math.max(law.mean, 0);
  const { shape, scale } = shapeScale(law);
  if (!(shape > VANISHING_SHAPE)) return 0;
  const limit = law.mean / (isUpper ? p : 1 - p);
  let x: number;
  if (shape > NORMAL_SHAPE) {
    const z = isUpper ? upperNormalQuantile(p) : -upperNormalQuantile(p);
    const root = 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape));
    x = shape * root * root * root;
  } else {
    x = gammaQuantile(shape, p, isUpper);
  }
  return x > 0 ? Math.min(x * scale, limit, LARGEST) : 0;
}

/** x with P(X <= x) = p. */
export function lowerQuantile(law: Gamma, p: number): number {
  return quantile(law, p, false);
}

/** x with P(X > x) = p. */
export function upperQuantile(law: Gamma, p: number): number {
  return quantile(law, p, true);
}

/** P(X <= x) and P(X > x). */
export function tails(law: Gamma, x: number): { below: number; above: number } {
  if (!(x > 0)) return { below: 0, above: 1 };
  if (isConstant(law)) return x >= law.mean ? { below: 1, above: 0 } : { below: 0, above: 1 };
  const { shape, scale } = shapeScale(law);
  if (!(shape > VANISHING_SHAPE && scale < LARGEST)) return { below: 1, above: 0 };
  if (shape > NORMAL_SHAPE) {
    const z = 3 * Math.sqrt(shape) * (Math.cbrt(x / scale / shape) - 1 + 1 / (9 * shape));
    return { below: normalAbove(-z), above: normalAbove(z) };
  }
  return gammaTails(shape, x / scale);
}
