// Strata of single objects, computed as src/estimation/sums.cc adds them.
import type { Strata } from "../src/data";

/** `objects`: [bytes, interval]; an interval of at most 1 records with certainty. */
export function strataOf(objects: [number, number][]): Strata {
  const strata: Strata = {
    certain: [],
    bytes: [],
    weighted: [],
    variance: [],
    objects: [],
    objectsVariance: [],
    interval: [],
    sizeClass: [],
  };
  for (const [z, interval] of objects) {
    const isCertain = interval <= 1;
    const missed = isCertain ? 0 : Math.exp(-z / interval);
    const pi = isCertain ? 1 : -Math.expm1(-z / interval);
    strata.certain.push(isCertain ? 1 : 0);
    strata.bytes.push(z);
    strata.weighted.push(z / pi);
    strata.variance.push((z / pi) * ((z * missed) / pi));
    strata.objects.push(1 / pi);
    strata.objectsVariance.push(missed / pi / pi);
    strata.interval.push(isCertain ? 0 : interval);
    strata.sizeClass.push(z > 0 ? Math.floor(Math.log2(z)) : -1);
  }
  return strata;
}
