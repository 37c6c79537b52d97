// An estimate as text, its limits in the title.
import {
  exactCount,
  figure,
  type Figure as Parts,
  hasObjectsInterval,
  isExact,
  levelText,
  limitsText,
  plural,
  type Quantity,
  type Estimate,
} from "../numbers/arithmetic";

/** "95 % interval: 1.2 MiB to 3.4 MiB, 12 samples". */
export function intervalText(estimate: Estimate, quantity: Quantity, level: number): string {
  if (isExact(estimate)) return "known exactly";
  const { samples, openSamples = 0 } = estimate;
  const unknown =
    openSamples > 0
      ? `; the bytes of ${exactCount(openSamples)} more are unknown: the upper limit includes all of them`
      : "";
  return (
    `${levelText(level)} interval: ${limitsText(estimate, quantity)}, ` +
    `${plural(samples, "sample")}${unknown}`
  );
}

/** Of objects beside their bytes: the interval, or why there is none. */
export function objectsText(
  bytes: Estimate,
  objects: Estimate,
  certain: number,
  level: number,
): string {
  if (hasObjectsInterval(bytes, objects)) return intervalText(objects, "objects", level);
  const recorded = certain > 0 ? ` but the ${exactCount(certain)} recorded exactly` : "";
  const seen =
    objects.samples > 0
      ? `only ${plural(objects.samples, "sample")}, of sizes that differ,`
      : `none of its objects was sampled${recorded},`;
  return (
    `no upper limit: ${seen} and how many fit into the bytes that may have been missed depends ` +
    "on their sizes"
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

/** Bytes, with the interval in the title. */
export function BytesFigure({ estimate, level }: { estimate: Estimate; level: number }) {
  return <Figure parts={figure(estimate, "bytes")} title={intervalText(estimate, "bytes", level)} />;
}
