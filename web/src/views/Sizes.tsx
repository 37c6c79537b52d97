// Histogram of requested sizes by powers of two, each bar with its interval.
import { countedOf } from "../model/finding";
import { type Groups, selectedOf, sizeClassName } from "../model/groups";
import { rowBytes, rowObjects } from "../model/measure";
import { type Estimate, exactBytes, exactCount, figure, textOf } from "../numbers/arithmetic";
import { rowOf } from "../numbers/sums";
import type { ViewProps } from "./context";

const HEIGHT = 170;
const BASE = HEIGHT - 22;
const LEFT = 64;

interface Column {
  sizeClass: number;
  estimate: Estimate;
}

/** A round number at or below the largest, for the one line of the scale. */
function gridOf(most: number, isBytes: boolean): number {
  const base = isBytes ? 2 : 10;
  const power = base ** Math.floor(Math.log(Math.max(1, most)) / Math.log(base));
  return !isBytes && 5 * power <= most ? 5 * power : power;
}

/** Of objects without samples only a lower limit is known: an arrow. */
function whisker(
  estimate: Estimate,
  x: number,
  y: (value: number) => number,
  isBytes: boolean,
): string {
  if (!(estimate.hi > estimate.lo)) return "";
  if (!isBytes && estimate.samples === 0) {
    return `M${x} ${y(estimate.value)}v-9m-3 4l3 -4l3 4`;
  }
  const [lo, hi] = [y(estimate.lo), y(estimate.hi)];
  return `M${x} ${lo}V${hi}M${x - 4} ${lo}h8M${x - 4} ${hi}h8`;
}

function Bars(props: { title: string; columns: Column[]; isBytes: boolean }) {
  const { columns, isBytes } = props;
  const quantity = isBytes ? "bytes" : "objects";
  // What is drawn of each: the limit where there is one, else the value.
  const top = ({ estimate }: Column) =>
    !isBytes && estimate.samples === 0 ? estimate.value : estimate.hi;
  const most = Math.max(1, ...columns.map(top));
  const first = columns[0]!.sizeClass;
  const count = columns.at(-1)!.sizeClass - first + 1;
  const width = LEFT + Math.max(16 * 26, count * 26) + 8;
  const step = (width - LEFT - 8) / count;
  const y = (value: number) => BASE - (BASE - 10) * Math.min(1, value / most);
  const grid = gridOf(most, isBytes);
  return (
    <figure class="histogram">
      <figcaption>{props.title}</figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label={props.title}>
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${props.title}; the table below has the numbers`}
        >
          <line class="grid" x1={LEFT} x2={width - 8} y1={y(grid)} y2={y(grid)} />
          <text class="tick" x={LEFT - 6} y={y(grid) + 4} text-anchor="end">
            {isBytes ? exactBytes(grid) : exactCount(grid)}
          </text>
          <line class="base" x1={LEFT} x2={width - 8} y1={BASE} y2={BASE} />
          {columns.map(({ sizeClass, estimate }) => {
            const x = LEFT + (sizeClass - first) * step;
            const middle = x + step / 2;
            return (
              <g key={sizeClass}>
                <title>{`${sizeClassName(sizeClass)}: ${textOf(figure(estimate, quantity))}`}</title>
                <rect
                  class="bin"
                  x={x + 2}
                  width={step - 4}
                  y={y(estimate.value)}
                  height={BASE - y(estimate.value)}
                />
                <path class="limits" d={whisker(estimate, middle, y, isBytes)} />
                {(sizeClass - first) % Math.max(2, Math.ceil(count / 14)) === 0 && (
                  <text class="tick" x={x + 2} y={HEIGHT - 8}>
                    {sizeClass < 0 ? "0" : exactBytes(2 ** sizeClass)}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
    </figure>
  );
}

export function Sizes(props: ViewProps & { groups: Groups }) {
  const { groups, level } = props;
  if (groups.count === 0) return null;
  const isOfRanges = countedOf(groups.selected.profile.kind) === "range";
  const rows = Array.from({ length: groups.count }, (_, i) => i).sort(
    (a, b) => groups.key(a) - groups.key(b),
  );
  const columnsOf = (measure: typeof rowBytes): Column[] =>
    rows.map((row) => ({
      sizeClass: groups.key(row),
      estimate: measure(selectedOf(groups, row), rowOf(groups.self, row), level),
    }));
  return (
    <div class="histograms">
      <Bars title="Bytes by requested size" columns={columnsOf(rowBytes)} isBytes={true} />
      <Bars title={`${isOfRanges ? "Ranges" : "Objects"} by requested size`} columns={columnsOf(rowObjects)} isBytes={false} />
    </div>
  );
}
