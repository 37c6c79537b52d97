// What the plots have in common: axes, and a width that follows the page's.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Palette } from "../draw/palette";

export const SANS = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";

export function axisStroke(palette: Palette): Partial<uPlot.Axis> {
  return {
    stroke: palette.faint,
    font: `12px ${SANS}`,
    grid: { stroke: palette.rest, width: 1 },
    ticks: { stroke: palette.rest, width: 1, size: 4 },
  };
}

/** The unit of all times of an axis up to `last`, in seconds, and its name. */
export function timeUnit(last: number): [number, string] {
  if (last < 1e-6) return [1e-9, "ns"];
  if (last < 1e-3) return [1e-6, "us"];
  if (last < 1) return [1e-3, "ms"];
  if (last < 120) return [1, "s"];
  return last < 7200 ? [60, "min"] : [3600, "h"];
}

/** An element with a plot of the data, and the plot; made anew when `of` changes. */
export function usePlot(
  optionsOf: (width: number) => uPlot.Options,
  data: () => uPlot.AlignedData,
  of: unknown[],
) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  useEffect(() => {
    const element = place.current!;
    const width = () => Math.max(200, element.clientWidth);
    const options = optionsOf(width());
    const made = new uPlot(options, data(), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height: options.height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, of);
  return { place, plot };
}
