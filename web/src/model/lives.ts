// How long objects live, from a survival curve.
import type { Survival } from "../data";
import { duration } from "../numbers/arithmetic";

/** The times that `share` of the bytes outlive, by the curve and its limits. */
function outlived({ time, value, lo, hi }: Survival, share: number): [number, number, number] {
  const crossing = (values: number[]) =>
    time[values.findIndex((alive) => alive <= share)] ?? Infinity;
  return [crossing(value), crossing(lo), crossing(hi)];
}

/** The time that `share` of the bytes outlive, as text: after the curve's last time nothing is known. */
export function livesText(curve: Survival, share: number): string {
  const [at, least, most] = outlived(curve, share);
  const end = curve.time.at(-1)!;
  const last = duration(end);
  // Of what the curve does not reach only its last time is known.
  if (!Number.isFinite(at) && least >= end) return last;
  const limits = [duration(least), Number.isFinite(most) ? duration(most) : `> ${last}`];
  const value = Number.isFinite(at) ? duration(at) : last;
  return limits.every((limit) => limit === value) ? value : `${value} [${limits.join(", ")}]`;
}
