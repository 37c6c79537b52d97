// The rows that pages show, with their numbers as the page's arithmetic has them and as Chromium
// shows them: a line of JSON for each document and kind.
//
//   npx vite-node tests/rows.ts -- DOCUMENT...
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import type { PageData } from "../src/data";
import {
  dimensionGroups,
  functionGroups,
  type Groups,
  moduleGroups,
  selectedOf,
} from "../src/model/groups";
import { filteredView } from "../src/model/filter";
import { rowBytes, rowObjects, shareOf, totalBytes } from "../src/model/measure";
import { type Estimate, loadArithmetic, type Share } from "../src/numbers/arithmetic";
import { rowOf, samplesOf } from "../src/numbers/sums";
import { baseName, fullName, moduleName, type Page, pageOf } from "../src/model/page";
import { DIMENSIONS, hasDimension, select } from "../src/model/selection";
import { finished, type Steps } from "../src/model/slices";
import { filled, launch, open, type Opened } from "./browser";
import { settled } from "./reader";

await loadArithmetic();

interface Row {
  name: string;
  detail: string;
  self: Estimate;
  total: Estimate | undefined;
  objects: Estimate;
  share: Share;
  samples: number;
}

/** What a page shows of a row. */
interface Shown {
  name: string;
  /** Own bytes, and their tooltip. */
  text: string;
  title: string;
}

/** Names in full, as other reports print them; of sizes, which each names its own way, the power of two. */
function nameOf(page: Page, by: string, groups: Groups, row: number): [string, string] {
  if (by === "size") return [String(groups.key(row)), ""];
  if (by !== "function") return [groups.name(row), ""];
  const of = groups.key(row);
  return [fullName(page, of), baseName(moduleName(page, of))];
}

function rowsOf(page: Page, by: string, make: Steps<Groups>): Row[] {
  const { level } = page.data;
  const groups = finished(make);
  return Array.from({ length: groups.count }, (_, i) => {
    const sums = () => rowOf(groups.self, i);
    const within = selectedOf(groups, i);
    const self = rowBytes(within, sums(), level);
    const [name, detail] = nameOf(page, by, groups, i);
    return {
      name,
      detail,
      self,
      total: groups.total && rowBytes(within, rowOf(groups.total, i), level),
      objects: rowObjects(within, sums(), level),
      share: shareOf(within, sums(), self, level),
      samples: samplesOf(sums(), 0),
    };
  });
}

interface Windowed {
  /** Nanoseconds since the start: what the window covers is before the second. */
  from: number;
  to: number;
  function: Row[];
}

/** Of a window in the middle, where the kind has times. */
function windowed(page: Page, profile: number): Windowed | undefined {
  const { counts } = page.data.profiles[profile]!;
  const edges = page.data.timeline?.edges ?? [];
  if (counts === "all" || edges.length < 10) return undefined;
  const window = { from: Math.floor(0.2 * edges.length), to: Math.floor(0.7 * edges.length) };
  const selected = select(page, { profile, window, only: {} });
  const rows = rowsOf(page, "function", functionGroups(page, selected));
  return { from: edges[window.from]!, to: edges[window.to + 1]!, function: rows };
}

/** What an expression keeps or leaves out: the whole, and rows. */
interface Filtered {
  bytes: Estimate;
  function: Row[];
}

/** Of an expression that in each recording something answers, and something cannot. */
const EXPRESSION = "^(grow|work|main|deflate.*)$";

function filteredBy(page: Page, profile: number, filter: "focus" | "ignore"): Filtered {
  const filters = { hide: "", focus: "", ignore: "", [filter]: EXPRESSION };
  const { stacks } = finished(filteredView(page, page, true, filters));
  const selected = select(page, { profile, window: undefined, only: {}, stacks });
  return {
    bytes: totalBytes(selected, page.data.level),
    function: rowsOf(page, "function", functionGroups(page, selected)),
  };
}

function computed(page: Page, profile: number): Record<string, Row[]> {
  const selected = select(page, { profile, window: undefined, only: {} });
  const rows: Record<string, Row[]> = {
    function: rowsOf(page, "function", functionGroups(page, selected)),
    module: rowsOf(page, "module", moduleGroups(page, selected)),
  };
  for (const dimension of DIMENSIONS) {
    if (dimension === "process" || dimension === "label") continue;
    if (!hasDimension(selected.cells, dimension)) continue;
    rows[dimension] = rowsOf(page, dimension, dimensionGroups(page, selected, dimension));
  }
  return rows;
}

async function shownRows({ page }: Opened): Promise<Shown[]> {
  return page.locator(".data tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const figure = row.querySelector(".number .figure")!;
      return {
        name: row.querySelector(".name bdi")!.getAttribute("title") ?? "",
        text: figure.textContent ?? "",
        title: figure.getAttribute("title") ?? "",
      };
    }),
  );
}

/** The rows of functions in Chromium, every frame shown. */
async function shownOf(browser: Browser, data: PageData, kind: string): Promise<Shown[]> {
  const hash = `tab=functions&frames=all&sort=self&kind=${kind}`;
  const opened = await open(browser, filled(data), { hash });
  await opened.page.waitForSelector("main");
  await settled(opened.page);
  const shown = await shownRows(opened);
  await opened.close();
  return shown;
}

/** Kinds that Chromium is asked for: the arithmetic is compared in all. */
const OPENED = ["live", "peak", "allocated", "resident"];

const browser = await launch();
for (const path of process.argv.slice(2).filter((word) => word !== "--")) {
  const data = JSON.parse(readFileSync(path, "utf8")) as PageData;
  const page = pageOf(data);
  for (const [i, { kind, cells }] of data.profiles.entries()) {
    if (cells < 0) continue;
    const rows = computed(page, i);
    const shown = OPENED.includes(kind) ? await shownOf(browser, data, kind) : [];
    const [focus, ignore] = [filteredBy(page, i, "focus"), filteredBy(page, i, "ignore")];
    const window = windowed(page, i);
    console.log(
      JSON.stringify({ page: path, kind, rows, window, expression: EXPRESSION, focus, ignore, shown }),
    );
  }
}
await browser.close();
