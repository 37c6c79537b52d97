// How long the main thread is held up by what a reader does on a page of 200,000 nodes: of each
// interaction the longest task of the browser's own trace, painting and all, in milliseconds: by the
// clock, and of the processor, which is what it takes where nothing else runs.
//
//   npm run interactions -- [REPETITIONS [WORD]]
//
// WORD: only interactions with it in their name. The first lines are of a page with nothing on it.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import type { Browser, Page } from "playwright-core";
import { filled, launch, open, type Opened } from "./browser";
import { PAGES } from "./fixture";
import { type Interaction, INTERACTIONS, NOTHING, settled } from "./reader";

const USUAL_REPETITIONS = 15;
const TRACE = join(tmpdir(), `geiger-interactions-${process.pid}.json`);

interface TraceEvent {
  name: string;
  cat: string;
  ph: string;
  ts: number;
  dur?: number;
  /** Of the processor. */
  tdur?: number;
  pid: number;
  tid: number;
}

interface Longest {
  clock: number[];
  processor: number[];
}

/** Longest tasks between each "begin" and the "end" after it, milliseconds, in ascending order. */
function longestTasks(events: TraceEvent[]): Longest {
  const isMark = (event: TraceEvent) => event.cat.includes("blink.user_timing");
  const begins = events.filter((event) => isMark(event) && event.name === "begin");
  const ends = events.filter((event) => isMark(event) && event.name === "end");
  const { pid, tid } = begins[0]!;
  const tasks = events.filter(
    (event) => event.name === "RunTask" && event.pid === pid && event.tid === tid,
  );
  const longest = (measure: (task: TraceEvent) => number) =>
    begins
      .map(({ ts }, i) => {
        const within = tasks.filter((task) => task.ts >= ts && task.ts < ends[i]!.ts);
        return Math.max(0, ...within.map(measure)) / 1000;
      })
      .sort((a, b) => a - b);
  return { clock: longest(({ dur }) => dur ?? 0), processor: longest(({ tdur }) => tdur ?? 0) };
}

async function measured(browser: Browser, page: Page, what: Interaction, times: number) {
  await what.prepare?.(page);
  await settled(page);
  await browser.startTracing(page, {
    path: TRACE,
    categories: ["blink.user_timing", "disabled-by-default-devtools.timeline"],
  });
  for (let i = 0; i < times; ++i) {
    await page.evaluate(() => performance.mark("begin"));
    await what.act(page, i);
    await settled(page);
    await page.evaluate(() => performance.mark("end"));
  }
  await browser.stopTracing();
  const { traceEvents } = JSON.parse(readFileSync(TRACE, "utf8")) as { traceEvents: TraceEvent[] };
  rmSync(TRACE);
  return longestTasks(traceEvents);
}

function line(name: string, columns: (number | string)[]): string {
  const cells = columns.map((cell) => (typeof cell === "number" ? cell.toFixed(1) : cell));
  return name.padEnd(28) + cells.map((cell) => cell.padStart(9)).join("");
}

async function report(browser: Browser, opened: Opened, list: Interaction[], times: number) {
  for (const what of list) {
    const { clock, processor } = await measured(browser, opened.page, what, times);
    const columns = [clock, processor].flatMap((found) => [
      found[found.length >> 1]!,
      found.at(-1)!,
    ]);
    console.log(line(what.name, columns));
  }
  if (opened.complaints.length > 0) throw new Error(opened.complaints.join("\n"));
  await opened.close();
}

const [times = USUAL_REPETITIONS, word = ""] = process.argv.slice(2).filter((one) => one !== "--");
const browser = await launch();
console.log(line("longest task, ms", ["clock", "worst", "processor", "worst"]));
await report(browser, await open(browser, "<!doctype html><p>nothing</p>"), NOTHING, Number(times));
const wanted = INTERACTIONS.filter(({ name }) => name.includes(word));
for (const [title, data] of PAGES) {
  const isOfDiff = data().diff !== undefined;
  const list = wanted.filter((one) => (one.isOfDiff ?? false) === isOfDiff);
  if (list.length === 0) continue;
  console.log(title);
  const opened = await open(browser, filled(data()));
  await opened.page.waitForSelector(".chart canvas");
  await report(browser, opened, list, Number(times));
}
await browser.close();
