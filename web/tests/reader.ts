// What a reader does on a page: for the measurement of interactions and the test that counts them.
import type { Page } from "playwright-core";

export interface Interaction {
  name: string;
  /** On a page that compares. */
  isOfDiff?: boolean;
  /** Once, before the first time. */
  prepare?: (page: Page) => Promise<unknown>;
  /** The i-th time, by the reader's own means: pointer and keys. */
  act: (page: Page, i: number) => Promise<unknown>;
}

const PAUSE_MS = 60;

/** Rounds of waiting, beyond all patience. */
const MOST_PAUSES = 1000;

/** Until nothing is being added up any more, and has been drawn. */
export async function settled(page: Page): Promise<void> {
  for (let i = 0; i < MOST_PAUSES; ++i) {
    await page.waitForTimeout(PAUSE_MS);
    if ((await page.locator("[aria-busy=true], .busy").count()) === 0) return;
  }
  throw new Error("the page does not come to an end of adding up");
}

const ROW = 30;
const tab = (name: string) => async (page: Page) => {
  const isShown = (await page.locator(`#tab-${name}`).count()) > 0;
  return isShown ? page.click(`#tab-${name}`) : page.selectOption(".more", name);
};
const kind = (name: string) => (page: Page) => page.click(`.kinds label:has([value=${name}])`);
const button = (name: string) => (page: Page) => page.click(`main button:text-is("${name}")`);

/** Brings a chart into the window, for the pointer. */
const toChart = (nth: number) => (page: Page) =>
  page
    .locator(".chart canvas")
    .nth(nth)
    .evaluate((canvas) => canvas.scrollIntoView({ block: "start" }));

const inOrder =
  (...acts: ((page: Page) => Promise<unknown>)[]) =>
  async (page: Page) => {
    for (const act of acts) {
      await act(page);
      await settled(page);
    }
  };

/** A place on a chart: a column of 7, a row. */
async function onChart(page: Page, column: number, row: number, nth = 0) {
  const box = (await page.locator(".chart canvas").nth(nth).boundingBox())!;
  return { x: box.x + 40 + (column % 7) * 150, y: box.y + row * ROW + 8 };
}

/** Into the graph twice, and out again. */
async function zoom(page: Page, i: number): Promise<void> {
  if (i % 3 === 2) return page.keyboard.press("0");
  const { x, y } = await onChart(page, 0, 1 + (i % 3));
  // The first click chooses.
  return page.mouse.dblclick(x, y);
}

async function choose(page: Page, i: number): Promise<void> {
  const { x, y } = await onChart(page, i, 1 + (i % 3));
  return page.mouse.click(x, y);
}

async function another(page: Page, i: number): Promise<void> {
  const { x, y } = await onChart(page, i, 1, 1);
  return page.mouse.click(x, y);
}

async function hover(page: Page, i: number): Promise<void> {
  const { x, y } = await onChart(page, i, 2 + (i % 9));
  return page.mouse.move(x, y);
}

async function scroll(page: Page, i: number): Promise<void> {
  const { x, y } = await onChart(page, 0, 5);
  await page.mouse.move(x, y);
  return page.mouse.wheel(0, i % 4 === 3 ? -2000 : 700);
}

const typed = (selector: string) => async (page: Page, i: number) => {
  const text = "parse|cache";
  const at = i % (text.length + 1);
  if (at === text.length) return page.fill(selector, "");
  await page.focus(selector);
  return page.keyboard.type(text[at]!);
};

/** One after the other, again and again. */
const inTurn =
  (...acts: ((page: Page) => Promise<unknown>)[]) =>
  (page: Page, i: number) =>
    acts[i % acts.length]!(page);

/** A tab from the flame graph, and back: what is measured is the longer one. */
const opening = (name: string): Interaction => ({
  name: `table of ${name}`,
  act: inTurn(tab(name), tab("flame")),
});

const sorting = (name: string): Interaction => ({
  name: `sort ${name}`,
  prepare: tab(name),
  act: async (page, i) => {
    const heads = page.locator("th button");
    return heads.nth(i % (await heads.count())).click();
  },
});

const filtering = (name: string): Interaction => ({
  name: `filter ${name}`,
  prepare: tab(name),
  act: typed(".toolbar input[type=search]"),
});

export const INTERACTIONS: Interaction[] = [
  { name: "zoom", prepare: inOrder(tab("flame"), toChart(0)), act: zoom },
  { name: "hover", act: hover },
  { name: "scroll", act: scroll },
  {
    name: "walk by keys",
    prepare: (page) => page.focus(".chart-view"),
    act: (page, i) => page.keyboard.press(["ArrowDown", "ArrowRight"][i % 2]!),
  },
  { name: "search", act: typed("#search") },
  {
    name: "kind",
    prepare: (page) => page.fill("#search", ""),
    act: inTurn(kind("allocated"), kind("live")),
  },
  {
    name: "window by keys",
    prepare: (page) => page.focus(".plot"),
    act: (page) => page.keyboard.press("Shift+ArrowLeft"),
  },
  {
    name: "window by dragging",
    act: async (page, i) => {
      const plot = (await page.locator(".plot .u-over").boundingBox())!;
      await page.mouse.move(plot.x + 100 + 10 * i, plot.y + 40);
      await page.mouse.down();
      await page.mouse.move(plot.x + 400 + 20 * i, plot.y + 60, { steps: 4 });
      await page.mouse.up();
    },
  },
  {
    name: "pointing at the timeline",
    act: async (page, i) => {
      const plot = (await page.locator(".plot .u-over").boundingBox())!;
      await page.mouse.move(plot.x + 30 * i, plot.y + 50);
    },
  },
  {
    name: "icicle or flame",
    prepare: async (page) => {
      await page.focus(".plot");
      await page.keyboard.press("Escape");
    },
    act: (page) => page.click(".toolbar .switch input"),
  },
  {
    name: "colour",
    act: inTurn(...["module", "certainty", "function"].map((colour) => (page: Page) => page.selectOption(".toolbar select", colour))),
  },
  { name: "show what is folded", act: (page) => page.keyboard.press("h") },
  { name: "choose a box", prepare: inOrder(tab("flame"), toChart(0)), act: choose },
  {
    name: "instant",
    act: async (page, i) => {
      const plot = (await page.locator(".plot .u-over").boundingBox())!;
      await page.mouse.click(plot.x + 100 + 50 * i, plot.y + 40);
    },
  },
  {
    name: "process",
    prepare: async (page) => {
      await page.focus(".plot");
      await page.keyboard.press("Escape");
    },
    act: (page, i) => page.selectOption("select.process", { index: (i + 1) % 3 }),
  },
  {
    name: "hide frames",
    prepare: (page) => page.click('button:has-text("Filter frames")'),
    act: typed(".frame-filter:nth-child(1) input"),
  },
  {
    name: "focus",
    prepare: (page) => page.fill(".frame-filter:nth-child(1) input", ""),
    act: typed(".frame-filter:nth-child(2) input"),
  },
  {
    name: "theme",
    prepare: async (page) => {
      await page.fill(".frame-filter:nth-child(2) input", "");
      await page.click('button:has-text("Filter frames")');
    },
    act: (page) => page.keyboard.press("d"),
  },
  { name: "callers", act: inTurn(button("Callers"), button("Callees")) },
  { name: "zoom in callers", prepare: inOrder(button("Callers"), toChart(0)), act: zoom },
  { name: "both", prepare: button("Callees"), act: inTurn(button("Both"), button("Callees")) },
  {
    name: "another function in both",
    prepare: inOrder(button("Both"), toChart(1)),
    act: another,
  },
  { name: "show what is folded in both", act: (page) => page.keyboard.press("h") },
  ...["functions", "lines", "stacks", "modules", "types", "sizes", "threads", "labels"].map(opening),
  ...["functions", "stacks", "modules"].map(sorting),
  ...["functions", "stacks"].map(filtering),
  {
    name: "pages of stacks",
    prepare: async (page) => {
      await tab("stacks")(page);
      await settled(page);
      await page.fill(".toolbar input[type=search]", "");
      await page.locator("th button").first().click();
    },
    act: (page) => page.click(".pager button:last-child"),
  },
  {
    name: "one thread alone",
    prepare: tab("threads"),
    act: inTurn(
      (page) => page.locator("td .link").first().click(),
      (page) => page.click(".chip button"),
    ),
  },
  { name: "zoom in changes", isOfDiff: true, prepare: toChart(0), act: zoom },
  { name: "hover over changes", isOfDiff: true, act: hover },
  { name: "search in changes", isOfDiff: true, act: typed("#search") },
  {
    name: "sort changes",
    isOfDiff: true,
    act: (page, i) =>
      page
        .locator("th button")
        .nth(i % 5)
        .click(),
  },
  { name: "filter changes", isOfDiff: true, act: typed(".card:last-child input[type=search]") },
  {
    name: "profile of the runs after",
    isOfDiff: true,
    act: inTurn(button("After"), button("Changes")),
  },
];

/** The same means on a page with nothing on it. */
export const NOTHING: Interaction[] = [
  { name: "(an empty page: pointer)", act: (page, i) => page.mouse.move(40 + 20 * i, 50) },
  { name: "(an empty page: click)", act: (page, i) => page.mouse.click(40 + 20 * i, 50) },
  { name: "(an empty page: key)", act: (page) => page.keyboard.press("x") },
];
