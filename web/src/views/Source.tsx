// Lines of source files around the functions of the selection, where the report embeds them.
import { useMemo } from "preact/hooks";
import { rowBytes } from "../model/measure";
import { emptySums, isEmpty, merge, rowOf, type Sums } from "../numbers/sums";
import { functionName, nameAt, type Page, placeOf } from "../model/page";
import { printable } from "../model/names";
import type { Selected } from "../model/selection";
import { Pace, type Steps } from "../model/slices";
import type { ViewProps } from "./context";
import { BytesFigure } from "./Figure";
import { Busy } from "./Kept";
import { useSteps } from "./slices";

/** Sums by line of a file: of what is allocated there, directly or by what is called there. */
function* sumsByLine(page: Page, selected: Selected, file: number): Steps<Map<number, Sums>> {
  const { frames } = page.data;
  const found = new Map<number, Sums>();
  const pace = new Pace();
  for (let node = 1; node < page.nodes; ++node) {
    if (pace.isDue()) yield;
    const frame = page.frame[node]!;
    if (frames.file[frame] !== file || isEmpty(selected.total, node)) continue;
    const line = frames.line[frame]!;
    // This line is further up in the stack too, where it was counted.
    let above = page.parent[node]!;
    while (above > 0 && !isOnLine(page, above, file, line)) {
      if (pace.isDue()) yield;
      above = page.parent[above]!;
    }
    if (above > 0) continue;
    let sums = found.get(line);
    if (!sums) found.set(line, (sums = emptySums()));
    merge(sums, 0, selected.total, node);
  }
  return found;
}

function isOnLine(page: Page, node: number, file: number, line: number): boolean {
  const { frames } = page.data;
  const frame = page.frame[node]!;
  return frames.line[frame] === line && frames.file[frame] === file;
}

interface Counted {
  selected: Selected;
  sums: Map<number, Sums>;
}

function* countedIn(page: Page, selected: Selected, file: number): Steps<Counted> {
  return { selected, sums: yield* sumsByLine(page, selected, file) };
}

function Lines(props: ViewProps & { source: Page["data"]["sources"][number] }) {
  const { page, level, source } = props;
  const { value, isBusy } = useSteps(
    () => countedIn(page, props.selected, source.file),
    [page, props.selected, source],
  );
  if (!value) return <Busy />;
  const { selected, sums } = value;
  return (
    <figure class="source kept" aria-busy={isBusy}>
      <figcaption>
        <bdi>{nameAt(page, source.file)}</bdi>
      </figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label="Source lines">
        <table>
          <thead>
            <tr>
              <th scope="col">Bytes</th>
              <th scope="col">Line</th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {source.lines.map((text, i) => {
              const line = source.from + i;
              const found = sums.get(line);
              return (
                <tr key={line} class={found ? "hot" : ""}>
                  <td>
                    {found && (
                      <BytesFigure
                        estimate={rowBytes(selected, rowOf(found, 0), level)}
                        level={level}
                      />
                    )}
                  </td>
                  <td class="faint">{line}</td>
                  <td>
                    <code>{printable(text.replace(/\t/g, "    "))}</code>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {isBusy && <Busy />}
    </figure>
  );
}

/** The embedded sources with a line of a function. */
function sourcesOf(page: Page, functionIndex: number): Page["data"]["sources"] {
  const { frames, sources } = page.data;
  const own = Array.from(page.functionOfFrame.keys()).filter(
    (frame) => page.functionOfFrame[frame] === functionIndex,
  );
  return sources.filter(({ file, from, lines }) =>
    own.some((frame) => {
      const line = frames.line[frame]!;
      return frames.file[frame] === file && line >= from && line < from + lines.length;
    }),
  );
}

/** Of one function: where its lines are. */
export function SourceLines(props: ViewProps & { functionIndex: number }) {
  const { page, functionIndex } = props;
  const found = useMemo(() => sourcesOf(page, functionIndex), [page, functionIndex]);
  if (found.length === 0) {
    const place = placeOf(page, page.frameOf[functionIndex]!);
    return place ? (
      <p class="faint">
        <bdi>{functionName(page, functionIndex)}</bdi> is at <bdi>{place}</bdi>
      </p>
    ) : null;
  }
  return (
    <>
      {found.map((source, i) => (
        <Lines key={i} {...props} source={source} />
      ))}
    </>
  );
}

export function SourceView(props: ViewProps) {
  const { sources } = props.page.data;
  if (sources.length === 0) {
    return (
      <p class="nothing">
        This page contains no source lines: <code>geiger report --source</code> adds them.
      </p>
    );
  }
  return (
    <section aria-label="Source">
      {sources.map((source, i) => (
        <Lines key={i} {...props} source={source} />
      ))}
    </section>
  );
}
