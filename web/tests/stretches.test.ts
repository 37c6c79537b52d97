// That nothing a reader does holds up a page of 200,000 nodes, without a clock: tasks are let run
// one by one, and the engine counts how often each place of the page's code ran in each of them.
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { STRETCH } from "../src/model/slices";
import { filled, hasChromium, launch, open } from "./browser";
import { PAGES } from "./fixture";
import { INTERACTIONS, settled } from "./reader";

// Generous: nothing here is about speed, and machines are busy.
const PATIENCE = { timeout: 600_000 };
/** Of the clock below, which goes on by one whenever somebody looks: those of a slice, and the one after. */
const STEPS_OF_A_SLICE = 5;
/** A place that a step comes by several times for each cell or node: no more than twice. */
const MOST = 2 * STEPS_OF_A_SLICE * STRETCH;
const TIMES = 3;

interface Held extends Window {
  isHeld: boolean;
  tasks: (() => void)[];
}

/** Runs in the page before all else: tasks wait in a queue while they are held. */
function hold(): void {
  const page = window as unknown as Held;
  page.isHeld = false;
  page.tasks = [];
  const later = { timeout: window.setTimeout, frame: window.requestAnimationFrame };
  const Channel = window.MessageChannel;
  let ticks = 0;
  const look = performance.now.bind(performance);
  performance.now = () => (page.isHeld ? ++ticks : look());
  const wrapped =
    (way: (act: () => void, time?: number) => number) =>
    (act: () => void, time?: number): number =>
      page.isHeld ? -page.tasks.push(act) : way.call(window, act, time);
  Object.assign(window, {
    setTimeout: wrapped(later.timeout as never),
    requestAnimationFrame: wrapped(later.frame as never),
    MessageChannel: class {
      readonly port1: { onmessage: (() => void) | null } = { onmessage: null };
      readonly port2 = {
        postMessage: () => {
          const deliver = () => this.port1.onmessage?.();
          if (page.isHeld) page.tasks.push(deliver);
          else this.through.port2.postMessage(0);
        },
      };
      private readonly through = new Channel();

      constructor() {
        this.through.port1.onmessage = () => this.port1.onmessage?.();
      }
    },
  });
}

/** The place that ran most often. */
interface Busiest {
  times: number;
  where: string;
}

/** Since the last time. */
async function busiest(session: CDPSession): Promise<Busiest> {
  const { result } = await session.send("Profiler.takePreciseCoverage");
  let most: Busiest = { times: 0, where: "" };
  for (const { url, functions } of result) {
    if (!url.endsWith("report.html")) continue;
    for (const { functionName, ranges } of functions) {
      for (const { count, startOffset } of ranges) {
        if (count > most.times) most = { times: count, where: `${functionName} at ${startOffset}` };
      }
    }
  }
  return most;
}

const LET_ONE_RUN = "window.tasks.shift()?.(); window.tasks.length";

/** Lets everything that waits run; the busiest place of any task. */
async function drained(session: CDPSession): Promise<Busiest> {
  let most = await busiest(session);
  for (let left = Infinity; left > 0;) {
    // In one go, for it is done hundreds of times.
    const [run, found] = await Promise.all([
      session.send("Runtime.evaluate", { expression: LET_ONE_RUN }),
      busiest(session),
    ]);
    if (run.exceptionDetails) throw new Error(JSON.stringify(run.exceptionDetails));
    left = Number(run.result.value);
    if (found.times > most.times) most = found;
  }
  return most;
}

/** Lets go of what came after the last one was let run, too. */
const holding = (page: Page, isHeld: boolean) =>
  page.evaluate((held) => {
    const { tasks } = Object.assign(window as unknown as Held, { isHeld: held });
    while (!held && tasks.length > 0) tasks.shift()!();
  }, isHeld);

let browser: Browser;

describe.skipIf(!hasChromium())("of 200,000 nodes, a task", PATIENCE, () => {
  beforeAll(async () => {
    browser = await launch();
  }, 120_000);
  afterAll(() => browser?.close());

  for (const [title, make] of [PAGES[0]!, PAGES[2]!]) {
    it(`goes through a stretch whatever the reader does: ${title}`, async () => {
      const data = make();
      const opened = await open(browser, filled(data), { before: hold });
      const { page } = opened;
      page.setDefaultTimeout(120_000);
      await page.waitForSelector(".chart canvas");
      const session = await page.context().newCDPSession(page);
      await session.send("Profiler.enable");
      await session.send("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
      const isOfDiff = data.diff !== undefined;
      for (const what of INTERACTIONS.filter((one) => (one.isOfDiff ?? false) === isOfDiff)) {
        await what.prepare?.(page);
        await settled(page);
        await holding(page, true);
        await busiest(session);
        for (let i = 0; i < TIMES; ++i) {
          await what.act(page, i);
          const { times, where } = await drained(session);
          expect(times, `${what.name}, ${where}`).toBeLessThanOrEqual(MOST);
        }
        await holding(page, false);
      }
      expect(opened.complaints).toEqual([]);
      await opened.close();
    });
  }
});
