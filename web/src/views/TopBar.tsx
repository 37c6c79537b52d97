// The bar at the top: which process, search, theme, help.
import { useMemo } from "preact/hooks";
import { elided, printable } from "../model/names";
import { nameAt, type Page } from "../model/page";
import type { Change, State } from "../model/state";
import { SearchField } from "./controls";

const LONGEST_TITLE = 90;

interface TopBarProps {
  page: Page;
  state: State;
  change: Change;
  isServed: boolean;
  isPaused: boolean;
  onPause: () => void;
  isDark: boolean;
  onTheme: () => void;
  onHelp: () => void;
}

/** Processes that anything is known of, in the order of the document: largest first. */
function processesOf(page: Page): number[] {
  const found = new Set<number>();
  for (const cells of page.data.cells) for (const process of cells.process) found.add(process);
  return [...found].sort((a, b) => a - b);
}

function Process({ page, state, change }: TopBarProps) {
  const processes = useMemo(() => processesOf(page), [page.data]);
  const title = elided(printable(page.data.title), LONGEST_TITLE);
  if (processes.length < 2) {
    return (
      <span class="process">
        <bdi>{title}</bdi>
      </span>
    );
  }
  const isFleet = page.data.facts.some(({ name }) => name === "hosts");
  const chosen = state.only.process;
  const choose = (text: string) => {
    const { process: _, ...only } = state.only;
    change({ only: text === "" ? only : { ...only, process: Number(text) }, chosen: [] }, true);
  };
  return (
    <select
      class="process"
      aria-label="Process"
      value={chosen === undefined ? "" : String(chosen)}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value="">
        {title}, all {processes.length} {isFleet ? "hosts" : "processes"}
      </option>
      {processes.map((process) => (
        <option key={process} value={process}>
          {elided(nameAt(page, process), LONGEST_TITLE)}
        </option>
      ))}
    </select>
  );
}

export function TopBar(props: TopBarProps) {
  const { state, change, isDark } = props;
  return (
    <header class="top">
      <div class="wrap">
        <span class="brand">geiger</span>
        <Process {...props} />
        {props.isServed && (
          <button class="quiet" aria-pressed={props.isPaused} onClick={props.onPause}>
            {props.isPaused ? "Resume" : "Pause"}
          </button>
        )}
        <SearchField
          id="search"
          label="Search functions and files, a regular expression"
          placeholder="Search functions and files   /"
          value={state.search}
          onChange={(search) => change({ search })}
        />
        <button
          class="icon"
          aria-label={isDark ? "Light colours" : "Dark colours"}
          title={isDark ? "Light colours" : "Dark colours"}
          onClick={props.onTheme}
        >
          ◐
        </button>
        <button class="icon help" aria-label="Help" title="Help" onClick={props.onHelp}>
          ?
        </button>
      </div>
    </header>
  );
}
