// A value as a bar, dark up to the lower limit and pale up to the estimate, with its interval as a
// whisker, to a common scale. One element, painted by the style sheet: tables have many.
import type { Limited } from "../data";

/** `showsLimits`: the whisker is there at rest too, not only under the pointer. */
export function Bar(props: { estimate: Limited; most: number; showsLimits?: boolean }) {
  const { value, lo, hi } = props.estimate;
  const at = (bytes: number) =>
    `${props.most > 0 ? Math.min(100, Math.max(0, (100 * bytes) / props.most)) : 0}%`;
  const kind = `bar ${hi > lo ? "open-ended" : ""} ${props.showsLimits ? "limits-shown" : ""}`;
  return (
    <span
      class={kind}
      aria-hidden="true"
      style={{ "--from": "0%", "--to": at(value), "--lo": at(lo), "--hi": at(hi) }}
    />
  );
}

/** A change around zero. */
export function ChangeBar(props: { delta: Limited; most: number; tone: string }) {
  const { delta, most, tone } = props;
  const at = (bytes: number) => 50 + 50 * Math.min(1, Math.max(-1, most > 0 ? bytes / most : 0));
  const middle = at(delta.value);
  return (
    <span
      class={`bar open-ended limits-shown change ${tone}`}
      aria-hidden="true"
      style={{
        "--from": `${Math.min(50, middle)}%`,
        "--to": `${Math.max(50, middle)}%`,
        "--lo": `${at(delta.lo)}%`,
        "--hi": `${at(delta.hi)}%`,
      }}
    />
  );
}
