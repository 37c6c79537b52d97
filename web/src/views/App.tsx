// The page: what is selected, and the views of it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LeakSite } from "../data";
import { DARK, LIGHT } from "../draw/palette";
import { type Finding, findingOf, openingProfile } from "../model/finding";
import { accusedOf } from "../model/leaks";
import { sizeClassName, valueName } from "../model/groups";
import { type Matched as MatchedStacks, matchedSums, type Search, searching } from "../model/search";
import { partBytes, shareOf } from "../model/measure";
import { duration, exactCount, figure, shareFigure, textOf } from "../numbers/arithmetic";
import { elided, printable } from "../model/names";
import { Answer } from "../model/answers";
import { filteredView } from "../model/filter";
import { foldedPage, type Page } from "../model/page";
import { DIMENSIONS, type Dimension, type Selected, type Window } from "../model/selection";
import type { Steps } from "../model/slices";
import { callAt } from "../model/call";
import { carriedOver } from "../model/carry";
import { openingState, type Side, type State, type Tab } from "../model/state";
import type { ViewProps } from "./context";
import { Chip, Choice } from "./controls";
import { About, Help } from "./Dialogs";
import { DiffView } from "./Diff";
import { FrameFilters, isFiltering } from "./FrameFilters";
import { OpenNote } from "./OpenNote";
import { Kept } from "./Kept";
import { rateText } from "./Leaks";
import { FactsLine, FindingText, Totals, Warnings } from "./Summary";
import { Tabs, tabOf, View } from "./Tabs";
import { Timeline } from "./Timeline";
import { TopBar } from "./TopBar";
import { UnnamedFrames } from "./Unnamed";
import { useKeys } from "./keys";
import { useSelected, useSteps } from "./slices";
import { useStateInAddress } from "./address";

interface AppProps {
  page: Page;
  isServed: boolean;
  isPaused: boolean;
  onPause: () => void;
}

function useDark(theme: State["theme"]): boolean {
  const query = useMemo(() => window.matchMedia("(prefers-color-scheme: dark)"), []);
  const [systemIsDark, setSystemIsDark] = useState(query.matches);
  useEffect(() => {
    const listen = () => setSystemIsDark(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, [query]);
  const isDark = theme === "system" ? systemIsDark : theme === "dark";
  // With the palette of what is drawn, not a frame behind it.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
  }, [isDark]);
  return isDark;
}

/** The profile of a kind; of an unknown one what the page opens on. */
function profileOf(page: Page, kind: string): number {
  const { profiles } = page.data;
  const named = profiles.findIndex((profile) => profile.kind === kind && profile.cells >= 0);
  return named >= 0 ? named : openingProfile(page.data);
}

function windowWithin(page: Page, window: Window | undefined): Window | undefined {
  if (!window || page.lastBucket < 0 || window.from > page.lastBucket) return undefined;
  return { from: window.from, to: Math.min(window.to, page.lastBucket) };
}

function chipText(page: Page, dimension: Dimension, value: number): string {
  if (dimension === "size") return `only sizes ${sizeClassName(value)}`;
  return `only ${dimension} ${elided(valueName(page, dimension, value), 60)}`;
}

function Filters(props: ViewProps) {
  const { page, state, change } = props;
  const active = DIMENSIONS.filter((dimension) => state.only[dimension] !== undefined);
  if (active.length === 0) return null;
  return (
    <div class="chips">
      {active.map((dimension) => (
        <Chip
          key={dimension}
          label={`Show every ${dimension}`}
          onClear={() => {
            const { [dimension]: _, ...only } = state.only;
            change({ only }, true);
          }}
        >
          <bdi>{chipText(page, dimension, state.only[dimension]!)}</bdi>
        </Chip>
      ))}
    </div>
  );
}

/** The second line, where something is suspect. */
function Suspect({ page, change, finding, selected }: ViewProps) {
  const { leaks } = page.data;
  if (!leaks) return null;
  const { stacks } = selected;
  const isKept = ({ node }: LeakSite) => !stacks || stacks.answers[node] === Answer.Yes;
  const first = accusedOf(leaks, stacks).find(({ site, below }) => below.some(isKept) || isKept(site))?.site;
  if (!first) return leaks.unreachable ? <p>{elided(printable(leaks.unreachable[0]!), 300)}</p> : null;
  const call = callAt(page, first.node);
  const isInIt = finding?.names.length === 1 && call.name.startsWith(`${finding.names[0]} › `);
  const until = leaks.why === "before_teardown" ? "its cleanup at exit"
    : leaks.why === "before_finalization" ? "its interpreter finalized" : "the end";
  return (
    <p>
      {isInIt ? "In it, " : ""}
      <code>{elided(isInIt ? call.called : call.name, 120)}</code>
      {!isInIt && call.place && <code class="interval"> {call.place}</code>} kept growing by{" "}
      {rateText(first)} per second until {until}
      {first.sites ? `, in ${first.sites}` : ""}.{" "}
      <button class="text-link" onClick={() => change({ tab: "leaks" }, true)}>
        Why it is a suspect
      </button>
    </p>
  );
}

interface Match extends MatchedStacks {
  selected: Selected;
  found: Search;
}

function* matchOf({ page, selected, found }: ViewProps): Steps<Match | undefined> {
  if (!found) return undefined;
  const matches = { is: found.matches, isInFile: found.isInFile };
  return { selected, found, ...(yield* matchedSums(page, selected, matches)) };
}

/** What a search found, with the bytes of all stacks through it. */
function Matched(props: ViewProps) {
  const { page, level } = props;
  const match = useSteps(() => matchOf(props), [page, props.selected, props.found]);
  if (!match.value) return null;
  const { selected, found, sums, doubts } = match.value;
  const bytes = partBytes(selected, sums, level);
  return (
    <Kept isBusy={match.isBusy}>
      <p class="matched" role="status">
        <b>{textOf(figure(bytes, "bytes"))}</b>
        <span class="faint">
          {" "}
          ({textOf(shareFigure(shareOf(selected, sums, bytes, level)))}) in{" "}
          {exactCount(found.functions)} of {exactCount(page.functions)} functions
        </span>
        {found.problem && (
          <span class="problem-inline"> taken literally: {printable(found.problem)}</span>
        )}
      </p>
      <OpenNote page={page} sums={sums} doubts={doubts} />
    </Kept>
  );
}

/** The tabs where a reader looks for names. */
const NAMES_FUNCTIONS: Tab[] = ["flame", "functions", "lines", "stacks"];

/** The window in words, as far as it changes this profile. */
function windowText(page: Page, selected: Selected): string {
  const { window } = selected;
  if (!window || !page.data.timeline || selected.profile.counts === "all") return "";
  const time = (edge: number) => duration(page.data.timeline!.edges[edge]!);
  return selected.profile.counts === "born"
    ? `from ${time(window.from)} to ${time(window.to + 1)}`
    : `as of ${time(window.to + 1)}`;
}

const MEANINGS = {
  born: "allocated in",
  alive: "alive at the end of",
  all: "not affected by the range",
};

/** What lives is of an instant: a click in the timeline looks at what lived then. */
function atInstant(props: ViewProps, bucket: number): Partial<State> {
  const isAlive = props.selected.profile.counts === "alive";
  const hasLive = props.page.data.profiles.some(({ kind, cells }) => kind === "live" && cells >= 0);
  const kind = isAlive || !hasLive ? props.state.kind : "live";
  return { kind, window: { from: 0, to: bucket }, chosen: [] };
}

function Profiles(props: ViewProps & { isBusy: boolean }) {
  const { selected, state, change, palette } = props;
  // The numbers of nodes are those of the page that was selected from.
  const { page } = selected;
  const { timeline } = page.data;
  const tab = tabOf(page, selected, state.tab);
  const now = { ...props, page, state: { ...state, tab } };
  const window = windowWithin(page, state.window);
  const [isOpened, setOpen] = useState(false);
  const isOpen = isOpened || isFiltering(props);
  return (
    <>
      <Warnings page={page} />
      <FindingText {...now}>
        <Suspect {...now} />
      </FindingText>
      <Totals {...now} instant={windowText(page, selected)} />
      <OpenNote page={page} sums={selected.whole} doubts={selected.doubts} />
      <FactsLine {...now} />
      {timeline &&
        timeline.edges.length > 1 &&
        (timeline.live.value.length > 0 || timeline.rss.time.length > 0) && (
          <Timeline
            timeline={timeline}
            window={window}
            palette={palette}
            meaning={MEANINGS[selected.profile.counts]}
            onWindow={(chosen, isStep) => change({ window: chosen, chosen: [] }, isStep)}
            onInstant={(bucket) => change(atInstant(now, bucket), true)}
          />
        )}
      <section class="views" aria-label="Views">
        <Tabs {...now} isFiltering={isOpen} onFilter={() => setOpen(!isOpen)} />
        {isOpen && <FrameFilters {...now} />}
        <Matched {...now} />
        <Filters {...now} />
        {NAMES_FUNCTIONS.includes(tab) && <UnnamedFrames {...now} />}
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          <View {...now} />
        </div>
      </section>
    </>
  );
}

function Footer(props: { page: Page; onAbout: () => void }) {
  const { left_out: leftOut, version } = props.page.data;
  return (
    <footer class="wrap">
      {leftOut.length > 0 && (
        <details>
          <summary>Omitted to limit the page's size; totals are unaffected</summary>
          <ul>
            {leftOut.map((text, i) => (
              <li key={i}>{printable(text)}</li>
            ))}
          </ul>
        </details>
      )}
      <button class="link" onClick={props.onAbout}>
        geiger {printable(version)}
      </button>
    </footer>
  );
}

function* findingSteps(of: { selected: Selected; level: number } | undefined): Steps<Finding | undefined> {
  return of && (yield* findingOf(of.selected, of.level));
}

/** The finding of what is selected, and the title of the page. */
function useFinding(of: { selected: Selected; level: number } | undefined, page: Page) {
  const made = useSteps(() => findingSteps(of), [page, of?.selected]);
  const finding = made.value;
  useEffect(() => {
    const title = elided(printable(page.data.title), 60);
    const names = finding?.names.length ? `: ${elided(finding.names.join(" and "), 60)}` : "";
    document.title = `${title}${names} – geiger`;
  }, [page, finding]);
  return made;
}

export function App(props: AppProps) {
  const { page } = props;
  const opening = useMemo(() => openingState(page.data.preset), []);
  const [state, change] = useStateInAddress(opening);
  const [dialog, setDialog] = useState<"" | "help" | "about">("");
  const isDark = useDark(state.theme);
  const palette = isDark ? DARK : LIGHT;
  const seen = useRef(page);
  useEffect(() => {
    // Numbers of names may change when a served page asks again: the state follows the names.
    if (seen.current !== page) change(carriedOver(state, seen.current, page));
    seen.current = page;
  }, [page]);
  const folded = useMemo(() => foldedPage(page), [page]);
  const { showsAll, hide, focus, ignore } = state;
  const view = useSteps(
    () => filteredView(page, folded, showsAll, { hide, focus, ignore }),
    [page, showsAll, hide, focus, ignore],
  );
  const profile = profileOf(page, state.kind);
  const window = windowWithin(page, state.window);
  const { page: shown, stacks } = view.value ?? { page: folded, stacks: undefined };
  const { value: selected, isBusy } = useSelected(shown, { profile, window, only: state.only, stacks });
  const finding = useFinding(selected ? { selected, level: page.data.level } : undefined, page);
  const found = useSteps(() => searching(page, state.search), [page, state.search]).value;
  const onTheme = () => change({ theme: isDark ? "light" : "dark" });
  useKeys(state, change, { onTheme, onHelp: () => setDialog("help"), isOpen: dialog !== "" });
  const { level, diff } = page.data;
  const shared = { page, state, change, level, palette, found, finding: finding.value };
  return (
    <>
      <TopBar
        {...props}
        state={state}
        change={change}
        isDark={isDark}
        onTheme={onTheme}
        onHelp={() => setDialog("help")}
      />
      <main class="wrap">
        {diff && selected && (
          <Choice<Side>
            name="Side"
            chosen={state.side}
            choices={[
              ["changes", "Changes"],
              ["after", "After"],
            ]}
            onChoose={(side) => change({ side, zoom: [], search: "", sort: "" }, true)}
          />
        )}
        {diff && (state.side === "changes" || !selected) ? (
          <DiffView {...shared} diff={diff} />
        ) : (
          selected && <Profiles {...shared} selected={selected} isBusy={view.isBusy || isBusy || finding.isBusy} />
        )}
      </main>
      <Footer page={page} onAbout={() => setDialog("about")} />
      {dialog === "help" && <Help onClose={() => setDialog("")} />}
      {dialog === "about" && <About data={page.data} onClose={() => setDialog("")} />}
    </>
  );
}
