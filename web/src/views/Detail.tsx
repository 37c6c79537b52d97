// The frame that is looked at: what it held, how many objects, what it allocated in all, how long
// that lived, what it asked for, and its source line.
import type { EstimateBook } from "../model/book";
import { countedOf, verbOf, whenText } from "../model/finding";
import { heldSiteOf } from "../model/holders";
import { livesText } from "../model/lives";
import { rowBytes, rowObjects, shareOf, shownBytes } from "../model/measure";
import { duration, isExact, objectsFigure, plural, shareFigure } from "../numbers/arithmetic";
import { samplesOf, Sum, type Sums } from "../numbers/sums";
import { elided, printable } from "../model/names";
import { fullName, functionName, isCurveOf, type Page, placeOf, shortPlaceOf } from "../model/page";
import { type Selected, selectingBelow } from "../model/selection";
import { matchedSums } from "../model/search";
import type { CallTree } from "../model/tree";
import { actionsFor } from "./actions";
import { Bar } from "./Bar";
import type { ViewProps } from "./context";
import { Name } from "./controls";
import { BytesFigure, Figure, objectsText } from "./Figure";
import { Portion } from "./Holders";
import { useSteps } from "./slices";
import { capitalized } from "./TableFrame";

const MOST_ASKED = 5;

interface DetailProps extends ViewProps {
  tree: CallTree;
  book: EstimateBook;
  node: number;
}

/** "Held at the peak": what the first number is. */
function heldText({ selected }: ViewProps): string {
  const { kind, title } = selected.profile;
  const when = whenText(selected);
  return when === "" || when === title ? printable(title) : `${capitalized(verbOf(kind))} ${when}`;
}

function Lives({ page, of }: { page: Page; of: number }) {
  const curve = page.data.lifetimes.find((one) => isCurveOf(page, one, of));
  if (!curve) return null;
  if (curve.value.every((alive) => alive === 1)) {
    return (
      <>
        <dt>Lives</dt>
        <dd>none of its objects were freed</dd>
      </>
    );
  }
  const half = livesText(curve, 0.5);
  const tenth = livesText(curve, 0.1);
  // Of what was hardly freed both are the end of the recording.
  return (
    <>
      <dt>Lives</dt>
      <dd>
        half of its bytes longer than {half}
        {tenth === half ? "" : `, a tenth longer than ${tenth}`}
      </dd>
    </>
  );
}

/** What holds what was live of it when that was looked for. */
function HeldBy({ page, change, level, of }: ViewProps & { of: number }) {
  const site = heldSiteOf(page, of);
  if (!site) return null;
  return (
    <>
      <dt>Held by</dt>
      <dd>
        <ul class="plain">
          {site.parts.slice(0, MOST_ASKED).map((part, i) => (
            <li key={i}>
              <Portion part={part} />{" "}
              {elided(printable(part.text.replace(/^held by /, "")), 200)}
            </li>
          ))}
          {site.parts.length > MOST_ASKED && <li class="faint">and others</li>}
        </ul>
        <span class="faint">
          of <BytesFigure estimate={shownBytes(site.live)} level={level} /> that it allocated itself, live{" "}
          {duration(page.data.holders!.after_ns)} after the start.{" "}
        </span>
        <button class="text-link" onClick={() => change({ tab: "holders" }, true)}>
          All holders
        </button>
      </dd>
    </>
  );
}

/** Bytes, and their share. */
function PartOf({ name, all, sums, level }: { name: string; all: Selected; sums: Sums; level: number }) {
  const bytes = rowBytes(all, sums, level);
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <BytesFigure estimate={bytes} level={level} />,{" "}
        <Figure parts={shareFigure(shareOf(all, sums, bytes, level))} />
      </dd>
    </>
  );
}

/** The function wherever it is called, where the box is not all of it. */
function OnAllPaths(props: DetailProps) {
  const { page, tree, node, level, selected } = props;
  const of = tree.functions[node]!;
  const made = useSteps(
    function* () {
      const matches = new Uint8Array(page.functions);
      matches[of] = 1;
      return { selected, ...(yield* matchedSums(page, selected, { is: matches })) };
    },
    [page, selected, of],
  );
  if (!made.value) return null;
  const { selected: all, sums } = made.value;
  if (samplesOf(sums, 0) <= samplesOf(tree.sums(node), 0)) return null;
  return <PartOf name="On all paths" all={all} sums={sums} level={level} />;
}

/** What the same stacks allocated in all, where something else is looked at. */
function InAll(props: DetailProps) {
  const { page, tree, node, state, level, selected } = props;
  const index = page.data.profiles.findIndex(({ kind }) => kind === "allocated");
  const { kind } = selected.profile;
  const isOfHeap = verbOf(kind) === "held" && countedOf(kind) === "sample";
  const isThere = isOfHeap && index >= 0 && page.data.profiles[index]!.cells >= 0;
  const isAsked = isThere && tree.direction === "callees";
  const made = useSteps(
    function* () {
      if (!isAsked) return undefined;
      // A box has only what is selected: the same call from another line may have freed all of it.
      const nodes = yield* tree.everywhere(node);
      const selection = { profile: index, window: undefined, only: state.only, stacks: selected.stacks };
      return yield* selectingBelow(page, selection, nodes);
    },
    [page, tree, node, state.only, selected.stacks],
  );
  if (!made.value) return null;
  const { selected: all, part } = made.value;
  return <PartOf name="Allocated in total" all={all} sums={part} level={level} />;
}

function Asked(props: DetailProps) {
  const { page, tree, book, node, level } = props;
  const [first, count] = tree.children(node);
  if (count === 0) return null;
  const shown = Array.from({ length: Math.min(count, MOST_ASKED) }, (_, i) => first + i);
  return (
    <>
      <h3>{tree.direction === "callers" ? "Callers" : "Callees"}</h3>
      <table class="mini">
        <tbody>
          {shown.map((child) => {
            const bytes = book.get(child);
            const share = shareOf(tree.selected, tree.sums(child), bytes, level);
            return (
              <tr key={child} class={bytes.lo < bytes.value / 2 ? "faint" : ""}>
                <td>
                  <code>
                    <Name text={elided(functionName(page, tree.functions[child]!), 80)} />
                  </code>
                </td>
                <td>
                  <BytesFigure estimate={bytes} level={level} />
                </td>
                <td>
                  <Figure parts={shareFigure(share)} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {count > MOST_ASKED && <p class="faint">and {plural(count - MOST_ASKED, "other")}</p>}
    </>
  );
}

/** The line of source that the frame stands at, where the page has it. */
function SourceLine({ page, frame }: { page: Page; frame: number }) {
  if (frame < 0) return null;
  const { file, line } = page.data.frames;
  const source = page.data.sources.find(
    (one) =>
      one.file === file[frame] && line[frame]! >= one.from && line[frame]! < one.from + one.lines.length,
  );
  if (!source) return null;
  return (
    <pre>
      <i>{line[frame]}</i> {printable(source.lines[line[frame]! - source.from]!.trim())}
    </pre>
  );
}

export function Detail(props: DetailProps) {
  const { page, tree, book, node, level } = props;
  const of = tree.functions[node]!;
  const frame = tree.frame(node);
  const sums = tree.sums(node);
  const bytes = book.get(node);
  const certain = sums[Sum.Certain]!;
  const objects = rowObjects(tree.selected, sums, level);
  const whole = book.get(0);
  const counted = countedOf(tree.selected.profile.kind);
  const place = shortPlaceOf(page, frame);
  return (
    <section class="detail" aria-label="Detail of the chosen frame">
      <div>
        <h2>
          <Name text={elided(functionName(page, of), 160)} title={elided(fullName(page, of), 400)} />
          {place && (
            <span class="where" title={placeOf(page, frame)}>
              {place}
            </span>
          )}
        </h2>
        <Bar estimate={bytes} most={Math.max(bytes.hi, whole.hi)} showsLimits={true} />
        <dl>
          <dt>{heldText(props)}</dt>
          <dd>
            <BytesFigure estimate={bytes} level={level} />
            {isExact(bytes) && <span class="faint"> exact</span>}, {plural(samplesOf(sums, 0), counted)}
          </dd>
          <dt>Share</dt>
          <dd>
            <Figure parts={shareFigure(shareOf(tree.selected, sums, bytes, level))} />
          </dd>
          {counted === "sample" && (
            <>
              <dt>Objects</dt>
              <dd>
                <Figure
                  parts={objectsFigure(bytes, objects)}
                  title={objectsText(bytes, objects, certain, level)}
                />
              </dd>
            </>
          )}
          <OnAllPaths {...props} />
          <InAll {...props} />
          <Lives page={page} of={of} />
          <HeldBy {...props} of={of} />
        </dl>
        <p class="actions">
          {actionsFor(props, tree, node).map(({ name, act }) => (
            <button key={name} class="text-link" onClick={act}>
              {name}
            </button>
          ))}
        </p>
      </div>
      <div>
        <Asked {...props} />
        <SourceLine page={page} frame={frame} />
      </div>
    </section>
  );
}
