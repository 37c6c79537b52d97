// Work that is done in steps: a generator that yields at places where it may be left for a while.

export type Steps<T> = Generator<void, T>;

/** Cells, nodes or entries that are gone through between two such places. */
export const STRETCH = 4096;
/** Of STRETCH: what a row takes whose text is made and looked at. */
export const OF_TEXT = 32;
/** Of STRETCH: what a row takes whose intervals are made, by quantiles. */
export const OF_INTERVALS = 512;

/** Counts what was gone through in loops whose rounds take more or less. */
export class Pace {
  private gone = 0;

  /** After a round that went through `units`: true where it is time to yield. */
  isDue(units = 1): boolean {
    this.gone += units;
    if (this.gone < STRETCH) return false;
    this.gone = 0;
    return true;
  }
}

/** All of it, at once. */
export function finished<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** As much as fits into some milliseconds; undefined if there is more. */
export function advanced<T>(steps: Steps<T>, milliseconds: number): { value: T } | undefined {
  const end = performance.now() + milliseconds;
  for (;;) {
    const step = steps.next();
    if (step.done) return { value: step.value };
    if (performance.now() > end) return undefined;
  }
}
