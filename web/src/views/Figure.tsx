// An estimate as text, its limits in the title.
import type { Estimate } from "../data";
import {
  type Figure as Parts,
  figure,
  isExact,
  levelText,
  plural,
  type Quantity,
  textOf,
} from "../numbers/format";

/** "95 % interval: [1.2 MiB, 3.4 MiB], 12 samples". */
export function intervalText(estimate: Estimate, quantity: Quantity, level: number): string {
  if (isExact(estimate)) return "known exactly";
  const bound = (value: number) =>
    textOf(figure({ ...estimate, value, lo: value, hi: value }, quantity));
  return (
    `${levelText(level)} interval: ${bound(estimate.lo)} to ${bound(estimate.hi)}, ` +
    plural(estimate.samples, "sample")
  );
}

export function Figure(props: { parts: Parts; title?: string }) {
  return (
    <span class="figure" title={props.title}>
      {props.parts.value}
      {props.parts.error && <span class="error"> {props.parts.error}</span>}
    </span>
  );
}
