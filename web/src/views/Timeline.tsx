// The heap over time: the band of the live heap, what was resident, what the program mapped itself,
// the peak and marks. A click chooses an instant, dragging a window, for everything on the page.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Timeline as Data } from "../data";
import type { Palette } from "../draw/palette";
import { elided, printable } from "../model/names";
import { lastUpTo } from "../model/order";
import type { Window } from "../model/selection";
import { duration, exactBytes } from "../numbers/arithmetic";
import { Chip } from "./controls";
import { axisStroke, SANS, timeUnit, usePlot } from "./plot";

/** Of the plot with its axis of time. */
const HEIGHT = 118 + 30;

interface TimelineProps {
  timeline: Data;
  window: Window | undefined;
  palette: Palette;
  /** What of the profile counts in a window, in words. */
  meaning: string;
  onWindow: (window: Window | undefined, isStep: boolean) => void;
  onInstant: (bucket: number) => void;
}

/** Times of all, seconds, with what is known at each. */
function seriesOf(timeline: Data): uPlot.AlignedData {
  const { edges, live, rss, mapped } = timeline;
  const liveTimes = live.value.map((_, i) => edges[i + 1]! / 1e9);
  const ofLive: uPlot.AlignedData = [liveTimes, live.hi, live.lo, live.value];
  const further = [rss, mapped].map(
    ({ time, bytes }): uPlot.AlignedData =>
      time.length > 0 ? [time.map((at) => at / 1e9), bytes] : [[liveTimes[0] ?? 0], [null]],
  );
  return uPlot.join([ofLive, ...further]);
}

function bucketAt(edges: number[], seconds: number): number {
  return lastUpTo(edges, seconds * 1e9, 0, edges.length - 2);
}

function strokeDown({ ctx, bbox }: uPlot, x: number): void {
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
}

/** A vertical line with a word at its top. */
function drawMark(plot: uPlot, seconds: number, text: string, palette: Palette) {
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(seconds, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = palette.mark;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  strokeDown(plot, x);
  drawWord(plot, x, text, palette, `${11 * ratio}px ${SANS}`);
  ctx.restore();
}

/** Beside a line, on the side where there is room; a halo keeps it apart from curves behind it. */
function drawWord(plot: uPlot, x: number, text: string, palette: Palette, font: string): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.font = font;
  ctx.direction = "ltr";
  const isRight = x > bbox.left + bbox.width * 0.8;
  ctx.textAlign = isRight ? "right" : "left";
  ctx.textBaseline = "middle";
  ctx.setLineDash([]);
  ctx.strokeStyle = palette.paper;
  ctx.lineWidth = 5 * ratio;
  const [at, y] = [x + (isRight ? -8 : 8) * ratio, bbox.top + 2 * ratio];
  ctx.strokeText(text, at, y);
  ctx.fillText(text, at, y);
}

/** The height of the curve of the live heap, whose points are the ends of buckets. */
export function liveAt({ edges, live: { value } }: Data, time: number): number | undefined {
  const bucket = bucketAt(edges, time / 1e9);
  const [from, to] = [edges[bucket]!, edges[bucket + 1]!];
  const after = value[bucket];
  const before = value[bucket - 1] ?? after;
  if (before === undefined || after === undefined) return undefined;
  return before + ((after - before) * Math.min(1, Math.max(0, time - from) / (to - from)));
}

/** The line of the peak, with a dot where it meets the curve. */
function drawPeak(plot: uPlot, timeline: Data, time: number, palette: Palette): void {
  const bytes = liveAt(timeline, time);
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = plot.valToPos(time / 1e9, "x", true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = palette.text;
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash([]);
  strokeDown(plot, x);
  if (bytes !== undefined && bytes > 0) {
    const y = Math.max(bbox.top, plot.valToPos(bytes, "y", true));
    ctx.beginPath();
    ctx.arc(x, y, 4.5 * ratio, 0, 2 * Math.PI);
    ctx.fill();
  }
  drawWord(plot, x, `peak, ${duration(time)}`, palette, `600 ${13 * ratio}px ${SANS}`);
  ctx.restore();
}

/** The part of the plot that is not in the window is dimmed. */
function drawWindow(plot: uPlot, edges: number[], window: Window, palette: Palette): void {
  const { ctx, bbox } = plot;
  const place = (edge: number) => plot.valToPos(edges[edge]! / 1e9, "x", true);
  const from = Math.max(bbox.left, place(window.from));
  const to = Math.min(bbox.left + bbox.width, place(window.to + 1));
  ctx.save();
  ctx.fillStyle = palette.isDark ? "rgba(16,19,21,.66)" : "rgba(251,251,250,.74)";
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
      drawMark(plot, mark.time / 1e9, elided(printable(mark.name), 24), palette);
    }
    if (timeline.peak !== undefined) drawPeak(plot, timeline, timeline.peak, palette);
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
  const clicked = (plot: uPlot) => {
    let from = 0;
    plot.over.addEventListener("pointerdown", (event) => (from = event.clientX));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - from) > 2) return;
      const { left } = plot.over.getBoundingClientRect();
      props().onInstant(bucketAt(timeline.edges, plot.posToVal(event.clientX - left, "x")));
    });
  };
  const pointed = (plot: uPlot) => {
    const { left } = plot.cursor;
    const isInside = left !== undefined && left >= 0;
    props().onCursor(isInside ? bucketAt(timeline.edges, plot.posToVal(left, "x")) : undefined);
  };
  const bytes = (_: uPlot, values: number[]) =>
    values.map((value, i) => axisText(value, i === values.length - 1));
  return {
    width,
    height: HEIGHT,
    padding: [11, 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, range: [timeline.edges[0]! / 1e9, timeline.edges.at(-1)! / 1e9] },
      y: { range: (_, __, most) => [0, topOf(most)] },
    },
    axes: [
      {
        ...axisStroke(palette),
        size: 27,
        grid: { show: false },
        ticks: { show: false },
        gap: 4,
        space: 90,
        incrs: TIME_STEPS.map((step) => step * timeUnit(timeline.edges.at(-1)! / 1e9)[0]),
        values: (_, values) => timeTexts(values),
      },
      {
        ...axisStroke(palette),
        size: 62,
        gap: 8,
        space: 32,
        ticks: { show: false },
        values: bytes,
        splits: (_, __, ___, top) => [0, 1, 2, 3].map((i) => i * stepOf(top)).filter((at) => at <= top),
      },
    ],
    bands: [{ series: [1, 2], fill: palette.band }],
    series: [
      {},
      { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true },
      { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true },
      { stroke: palette.live, width: 2, points: { show: false }, spanGaps: true },
      { stroke: palette.rss, width: 1.6, dash: [5, 4], points: { show: false }, spanGaps: true },
      { stroke: palette.mapped, width: 1.6, dash: [2, 3], points: { show: false }, spanGaps: true },
    ],
    hooks: { ready: [clicked], draw: [decorate], setSelect: [chosen], setCursor: [pointed] },
  };
}

/** So that there are at most three. */
export function stepOf(most: number): number {
  return BYTE_STEPS.find((step) => 3 * step >= most) ?? most;
}

/** The first label at or above all that is drawn. */
export function topOf(most: number): number {
  const step = stepOf(Math.max(1, most));
  return Math.max(1, Math.ceil(most / step)) * step;
}

/** Steps of an axis of time, in its unit. */
const TIME_STEPS = [-3, -2, -1, 0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

/** Steps of an axis of bytes, so that labels are round, and three steps of one unit: 1, 2, 5, 10, 20 ... 300. */
const BYTE_STEPS = Array.from({ length: 6 }, (_, unit) =>
  [1, 2, 5, 10, 20, 50, 100, 200, 300].map((step) => step * 1024 ** unit),
).flat();

/** The unit stands at the first label and the last: "0 s", "2", "4" ... "10 s". */
export function timeTexts(times: readonly number[]): string[] {
  const [unit, name] = timeUnit(times.at(-1) ?? 0);
  const isEnd = (i: number) => i === 0 || i + 1 === times.length;
  return times.map((time, i) => `${Number((time / unit).toPrecision(4))}${isEnd(i) ? ` ${name}` : ""}`);
}

/** The unit stands at the top label only. */
function axisText(bytes: number, isTop: boolean): string {
  if (bytes <= 0) return "0";
  const text = exactBytes(bytes);
  return isTop ? text : text.replace(/ .*$/, "");
}

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
  const [pointed, setPointed] = useState<number>();
  const latest = useRef(props);
  latest.current = props;
  const { place, plot } = usePlot(
    (width) => optionsOf(() => ({ ...latest.current, width, onCursor: setPointed })),
    () => seriesOf(timeline),
    [timeline, palette],
  );
  useEffect(() => plot.current?.redraw(false), [shown]);
  const { edges } = timeline;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="key">
        <span>
          <i class="key-live" />
          <span>
            live heap<span class="wide"> and its interval</span>
          </span>
        </span>
        {timeline.rss.time.length > 0 && (
          <span>
            <i class="key-rss" />
            resident
          </span>
        )}
        {timeline.mapped.time.length > 0 ? (
          <span>
            <i class="key-mapped" />
            own mmap
          </span>
        ) : (
          <span class="wide">own mmap: none</span>
        )}
        {shown && (
          <Chip label="Clear the range" onClear={() => props.onWindow(undefined, true)}>
            {props.meaning} {duration(edges[shown.from]!)} to {duration(edges[shown.to + 1]!)}
          </Chip>
        )}
        <span class="reading wide">
          {pointed !== undefined ? (
            <Reading timeline={timeline} at={pointed} />
          ) : (
            "Click for a moment; drag to select a range"
          )}
        </span>
      </div>
      <div
        ref={place}
        class="plot"
        tabIndex={0}
        role="application"
        aria-label={`Range of time: ${
          shown
            ? `${duration(edges[shown.from]!)} to ${duration(edges[shown.to + 1]!)}`
            : "everything"
        }. Left and right arrows move it, with shift its end; Escape clears it.`}
        onKeyDown={(event) => moveWindow(props, event)}
      />
    </section>
  );
}
