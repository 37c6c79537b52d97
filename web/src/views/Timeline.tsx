// The heap over time: the band of the live heap, what was resident, the peak and marks. What is
// chosen on it is the window of everything below.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Timeline as Data } from "../data";
import type { Palette } from "../draw/palette";
import { elided, printable } from "../model/names";
import type { Window } from "../model/selection";
import { duration, exactBytes } from "../numbers/format";
import { Chip } from "./controls";

export const FONT = "11.5px system-ui, sans-serif";
const HEIGHT = 190;

interface TimelineProps {
  timeline: Data;
  window: Window | undefined;
  palette: Palette;
  /** What of the profile counts in a window, in words. */
  meaning: string;
  onWindow: (window: Window | undefined, isStep: boolean) => void;
}

/** Times of both, seconds, with what is known at each. */
function seriesOf(timeline: Data): uPlot.AlignedData {
  const { edges, live, rss } = timeline;
  const liveTimes = live.value.map((_, i) => edges[i + 1]! / 1e9);
  const ofLive: uPlot.AlignedData = [liveTimes, live.hi, live.lo, live.value];
  const ofRss: uPlot.AlignedData = [rss.time.map((time) => time / 1e9), rss.bytes];
  return rss.time.length > 0 ? uPlot.join([ofLive, ofRss]) : [...ofLive, liveTimes.map(() => null)];
}

function bucketAt(edges: number[], seconds: number): number {
  const time = seconds * 1e9;
  let low = 0;
  let high = edges.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle]! <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function axisStroke(palette: Palette): Partial<uPlot.Axis> {
  return {
    stroke: palette.faint,
    font: FONT,
    grid: { stroke: palette.rest, width: 1 },
    ticks: { stroke: palette.rest, width: 1, size: 4 },
  };
}

/** A vertical line with a word at its top. */
function drawMark(plot: uPlot, seconds: number, text: string, palette: Palette, isPeak: boolean) {
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(seconds, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = isPeak ? palette.live : palette.mark;
  ctx.fillStyle = isPeak ? palette.live : palette.mark;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.direction = "ltr";
  const isRight = x > bbox.left + bbox.width * 0.85;
  ctx.textAlign = isRight ? "right" : "left";
  // A halo keeps the word apart from curves behind it.
  ctx.setLineDash([]);
  ctx.strokeStyle = palette.paper;
  ctx.lineWidth = 4 * ratio;
  ctx.strokeText(text, x + (isRight ? -4 : 4) * ratio, bbox.top + 9 * ratio);
  ctx.fillText(text, x + (isRight ? -4 : 4) * ratio, bbox.top + 9 * ratio);
  ctx.restore();
}

/** The part of the plot that is not in the window is dimmed. */
function drawWindow(plot: uPlot, edges: number[], window: Window, palette: Palette): void {
  const { ctx, bbox } = plot;
  const place = (edge: number) => plot.valToPos(edges[edge]! / 1e9, "x", true);
  const from = Math.max(bbox.left, place(window.from));
  const to = Math.min(bbox.left + bbox.width, place(window.to + 1));
  ctx.save();
  ctx.fillStyle = palette.isDark ? "rgba(10,12,14,.62)" : "rgba(255,255,255,.72)";
  ctx.fillRect(bbox.left, bbox.top, from - bbox.left, bbox.height);
  ctx.fillRect(to, bbox.top, bbox.left + bbox.width - to, bbox.height);
  ctx.strokeStyle = palette.focus;
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeRect(from, bbox.top, to - from, bbox.height);
  ctx.restore();
}

interface Drawn extends TimelineProps {
  width: number;
  onCursor: (bucket: number | undefined) => void;
}

function optionsOf(props: () => Drawn): uPlot.Options {
  const { palette, timeline, width } = props();
  const decorate = (plot: uPlot) => {
    const now = props();
    if (now.window) drawWindow(plot, timeline.edges, now.window, palette);
    for (const mark of timeline.marks) {
      drawMark(plot, mark.time / 1e9, elided(printable(mark.name), 24), palette, false);
    }
    if (timeline.peak !== undefined) drawMark(plot, timeline.peak / 1e9, "peak", palette, true);
  };
  const chosen = (plot: uPlot) => {
    const { left, width: pixels } = plot.select;
    if (pixels < 2) return;
    const { edges } = timeline;
    const from = bucketAt(edges, plot.posToVal(left, "x"));
    const to = bucketAt(edges, plot.posToVal(left + pixels, "x"));
    props().onWindow({ from, to }, true);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };
  const pointed = (plot: uPlot) => {
    const { left } = plot.cursor;
    const isInside = left !== undefined && left >= 0;
    props().onCursor(isInside ? bucketAt(timeline.edges, plot.posToVal(left, "x")) : undefined);
  };
  const bytes = (_: uPlot, values: number[]) =>
    values.map((value) => exactBytes(Math.max(0, value)));
  return {
    width,
    height: HEIGHT,
    padding: [10, 12, 0, 4],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: [timeline.edges[0]! / 1e9, timeline.edges.at(-1)! / 1e9] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.06)] },
    },
    axes: [
      {
        ...axisStroke(palette),
        size: 30,
        values: (_, values) => values.map((value) => (value === 0 ? "0" : duration(value * 1e9))),
      },
      { ...axisStroke(palette), size: 74, values: bytes, incrs: BYTE_STEPS },
    ],
    bands: [{ series: [1, 2], fill: palette.band }],
    series: [
      {},
      { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true },
      { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true },
      { stroke: palette.live, width: 1.6, points: { show: false }, spanGaps: true },
      { stroke: palette.rss, width: 1.3, dash: [5, 3], points: { show: false }, spanGaps: true },
    ],
    hooks: { draw: [decorate], setSelect: [chosen], setCursor: [pointed] },
  };
}

/** Steps of an axis of bytes: powers of two, so that labels are round. */
const BYTE_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** What the cursor points at, in words. */
function Reading(props: { timeline: Data; at: number }) {
  const { edges, live } = props.timeline;
  const i = props.at;
  if (i >= live.value.length) return <>{duration(edges[i + 1]!)}</>;
  const bytes = (value: number | undefined) => exactBytes(Math.max(0, Math.round(value ?? 0)));
  return (
    <>
      {duration(edges[i + 1]!)}: live {bytes(live.value[i])} [{bytes(live.lo[i])},{" "}
      {bytes(live.hi[i])}]
    </>
  );
}

function moveWindow(props: TimelineProps, event: KeyboardEvent): void {
  const last = props.timeline.edges.length - 2;
  const step = (event.key === "ArrowLeft" ? -1 : 1) * Math.max(1, Math.round(last / 50));
  if (event.key === "Escape" && props.window) props.onWindow(undefined, true);
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const window = props.window ?? { from: 0, to: last };
    const to = Math.min(last, Math.max(0, window.to + step));
    const from = event.shiftKey ? window.from : window.from + (props.window ? step : 0);
    props.onWindow({ from: Math.min(to, Math.max(0, from)), to }, false);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

export function Timeline(props: TimelineProps) {
  const { timeline, window: shown, palette } = props;
  const place = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number>();
  const plot = useRef<uPlot>();
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = place.current!;
    const width = () => Math.max(200, element.clientWidth);
    const options = optionsOf(() => ({ ...latest.current, width: width(), onCursor: setPointed }));
    const made = new uPlot(options, seriesOf(timeline), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [timeline, palette]);
  useEffect(() => plot.current?.redraw(false), [shown]);
  const { edges } = timeline;
  return (
    <section class="card timeline" aria-label="Timeline">
      <div class="toolbar">
        <span class="key">
          <i class="key-live" />
          live heap with its interval
        </span>
        {timeline.rss.time.length > 0 && (
          <span class="key">
            <i class="key-rss" />
            resident set, observed
          </span>
        )}
        {shown ? (
          <Chip label="Clear the window" onClear={() => props.onWindow(undefined, true)}>
            {props.meaning} {duration(edges[shown.from]!)} to {duration(edges[shown.to + 1]!)}
          </Chip>
        ) : (
          <span class="faint hint">drag, or focus and use ← →, to choose a window</span>
        )}
        {pointed !== undefined && (
          <span class="faint reading">
            <Reading timeline={timeline} at={pointed} />
          </span>
        )}
      </div>
      <div
        ref={place}
        class="plot"
        tabIndex={0}
        role="application"
        aria-label={`Window of time: ${
          shown
            ? `${duration(edges[shown.from]!)} to ${duration(edges[shown.to + 1]!)}`
            : "everything"
        }. Left and right arrows move it, with shift its end; Escape clears it.`}
        onKeyDown={(event) => moveWindow(props, event)}
      />
    </section>
  );
}
