// Survival curves: what share of objects outlives a time.
import { useEffect, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Survival } from "../data";
import type { Palette } from "../draw/palette";
import { elided, printable } from "../model/names";
import { functionName, isCurveOf, type Page } from "../model/page";
import { OF_TEXT, Pace, type Steps } from "../model/slices";
import { exactCount, shareFigure, textOf } from "../numbers/arithmetic";
import type { ViewProps } from "./context";
import { Head, Name } from "./controls";
import { axisStroke, timeUnit, usePlot } from "./plot";
import { useSteps } from "./slices";

const HEIGHT = 300;
/** Colours of curves, distinct in both themes. */
const INKS = ["#0f8a8f", "#b4661b", "#6a5acd", "#3f8f3f", "#b03a6a", "#7a7f85"];
const MOST_CURVES = INKS.length;

function seriesOf(curves: Survival[]): uPlot.AlignedData {
  const tables = curves.map((curve): uPlot.AlignedData => {
    // A logarithmic axis has no 0: what ends at once is drawn at a nanosecond.
    const times = curve.time.map((time) => Math.max(time, 1) / 1e9);
    const isDrawn = (i: number) =>
      i === 0 ? curve.value[0]! < 1 || times.length === 1 : times[i]! > times[i - 1]!;
    const at = times.filter((_, i) => isDrawn(i));
    const keep = (values: number[]) => values.filter((_, i) => isDrawn(i));
    return [at, keep(curve.hi), keep(curve.lo), keep(curve.value)];
  });
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

/** A power of ten of seconds: "10 us", "1 s". */
function roundTime(seconds: number): string {
  const [unit, name] = timeUnit(Math.min(1, seconds * (1 + 1e-9)));
  return `${exactCount(Math.round(seconds / unit))} ${name}`;
}

function optionsOf(curves: Survival[], palette: Palette, width: number): uPlot.Options {
  const stepped = uPlot.paths.stepped!({ align: 1 });
  const line = (stroke: string, thickness: number): uPlot.Series => ({
    stroke,
    width: thickness,
    paths: stepped,
    points: { show: false },
    spanGaps: true,
  });
  return {
    width,
    height: HEIGHT,
    // On the right half of the axis's last time.
    padding: [10, 28, 0, 4],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, distr: 3 }, y: { range: [0, 1] } },
    axes: [
      {
        ...axisStroke(palette),
        size: 32,
        values: (_, values) => values.map((value) => (value === null ? "" : roundTime(value))),
      },
      {
        ...axisStroke(palette),
        size: 52,
        values: (_, values) => values.map((value) => `${Math.round(value * 100)} %`),
      },
    ],
    bands: curves.map((_, i) => ({ series: [3 * i + 1, 3 * i + 2], fill: `${INKS[i]}26` })),
    series: [
      {},
      ...curves.flatMap((_, i) => [
        line("transparent", 0),
        line("transparent", 0),
        line(INKS[i]!, 1.8),
      ]),
    ],
  };
}

function Curves(props: { curves: Survival[]; palette: Palette }) {
  const { curves, palette } = props;
  const { place } = usePlot(
    (width) => optionsOf(curves, palette, width),
    () => seriesOf(curves),
    [curves, palette],
  );
  return (
    <div
      ref={place}
      class="plot"
      role="img"
      aria-label="Survival curves; the table below has their values"
    />
  );
}

/** The curve at a time: it holds its value until the next one. After the longest time watched nothing is known. */
export function valueAt(curve: Survival, time: number): { value: number; lo: number; hi: number } {
  let i = 0;
  while (i + 1 < curve.time.length && curve.time[i + 1]! <= time) ++i;
  const isWatched = time <= curve.time.at(-1)!;
  return { value: curve.value[i]!, lo: isWatched ? curve.lo[i]! : 0, hi: curve.hi[i]! };
}

/** Of each curve its function as it is called everywhere on the page. */
function* curveNames(page: Page): Steps<string[]> {
  const curves = page.data.lifetimes;
  const names = curves.map(({ name }) => printable(name));
  const pace = new Pace();
  for (let of = 0; of < page.functions; ++of) {
    if (pace.isDue(OF_TEXT)) yield;
    curves.forEach((curve, i) => {
      if (isCurveOf(page, curve, of)) names[i] = functionName(page, of);
    });
  }
  return names;
}

const TIMES: [number, string][] = [[1e6, "1 ms"], [1e9, "1 s"], [60e9, "1 min"], [3600e9, "1 h"]];

export function Lifetimes(props: ViewProps) {
  const all = props.page.data.lifetimes;
  const names = useSteps(() => curveNames(props.page), [props.page]).value;
  const [chosen, setChosen] = useState<number[]>([0]);
  const curves = chosen.map((i) => all[i]).filter((curve) => curve !== undefined);
  const [shown, setShown] = useState(curves);
  useEffect(() => setShown(curves), [all, chosen]);
  if (all.length === 0)
    return <p class="nothing">No lifetimes: the recording has no frees.</p>;
  const last = Math.max(...all.map((curve) => curve.time.at(-1) ?? 0));
  const times = TIMES.filter(([time], i) => i === 0 || time <= last);
  const toggle = (i: number) =>
    setChosen(
      chosen.includes(i) ? chosen.filter((at) => at !== i) : [...chosen, i].slice(-MOST_CURVES),
    );
  return (
    <section aria-label="Lifetimes">
      <p class="faint intro">
        Share of the allocated bytes that live longer than a given time, over the whole recording.
        Bands are{" "}
        {Math.round(props.level * 100)} % intervals.
      </p>
      {shown.length > 0 && <Curves curves={shown} palette={props.palette} />}
      <div class="scroll" tabIndex={0} role="region" aria-label="Survival">
        <table class="data">
          <thead>
            <tr>
              <Head kind="name" label="Allocated by" />
              <Head kind="number" label="Samples" />
              {times.map(([time, name]) => (
                <Head key={time} kind="number" label={`longer than ${name}`} />
              ))}
            </tr>
          </thead>
          <tbody>
            {all.map((curve, i) => (
              <tr key={i}>
                <td class="name">
                  <label class="switch">
                    <input
                      type="checkbox"
                      checked={chosen.includes(i)}
                      onChange={() => toggle(i)}
                    />
                    <i
                      class="ink"
                      style={{
                        background: chosen.includes(i) ? INKS[chosen.indexOf(i)] : "transparent",
                      }}
                    />
                    <Name text={elided(names?.[i] ?? printable(curve.name), 200)} title={elided(printable(curve.name), 400)} />
                  </label>
                </td>
                <td class="number samples" data-label="samples">{exactCount(curve.samples)}</td>
                {times.map(([time, name]) => (
                  <td key={time} class="number" data-label={`longer than ${name}`}>
                    {textOf(shareFigure(valueAt(curve, time)))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
