// The page in Debian's Chromium, opened as a file, cut off from every network.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../src/data";
import { type Tab, TABS } from "../src/model/state";
import { violations } from "./accessibility";
import { filled, hasChromium, launch, open, type Opened } from "./browser";
import { doubtful } from "./doubtful";
import { fixture } from "./fixture";
import { HOSTILE } from "./hostile";
import { settled } from "./reader";

// Generous: nothing here is about speed, and machines are busy.
const PATIENCE = { timeout: 300_000 };

let browser: Browser;

async function shown(data: PageData | string, hash = "", options = {}): Promise<Opened> {
  const opened = await open(browser, filled(data), { hash, ...options });
  opened.page.setDefaultTimeout(120_000);
  await opened.page.waitForSelector("main, .problem", { state: "attached" });
  await settled(opened.page);
  return opened;
}

function expectQuiet(opened: Opened): void {
  expect(opened.requests).toEqual([]);
  expect(opened.complaints).toEqual([]);
}

const CHOSEN = ".kinds label:has(:checked)";

/** The total of what is shown. */
const total = (opened: Opened) => opened.page.textContent(CHOSEN);

/** Opens a tab, also one of those in the list. */
async function toTab(page: Opened["page"], tab: Tab): Promise<void> {
  if ((await page.locator(`#tab-${tab}`).count()) === 0) await page.selectOption(".more", tab);
  else await page.click(`#tab-${tab}`);
  await settled(page);
}

const hash = async (opened: Opened) => opened.page.evaluate(() => location.hash);

describe.skipIf(!hasChromium())("the page", PATIENCE, () => {
  beforeAll(async () => {
    browser = await launch();
  }, 120_000);
  afterAll(() => browser?.close());

  it("shows totals as the terminal prints them", async () => {
    const data = fixture({ nodes: 600 });
    const opened = await shown(data, "kind=live");
    expect(await total(opened)).toMatch(/^Live at the end[\d.,]+ [KMG]iB ± [\d.]+$/);
    expect(await opened.page.getAttribute(CHOSEN, "title")).toContain("95 % interval");
    expectQuiet(opened);
    await opened.close();
  });

  for (const scheme of ["light", "dark"] as const) {
    it(`is accessible in every view, ${scheme}`, async () => {
      const data = fixture({ nodes: 300, hasSources: true });
      const opened = await shown(data, "", { colorScheme: scheme, bypassCSP: true });
      for (const tab of TABS) {
        await toTab(opened.page, tab);
        expect(await opened.page.getAttribute(`#tab-${tab}`, "aria-selected")).toBe("true");
        expect(await violations(opened.page), tab).toEqual([]);
      }
      await opened.page.click("#tab-flame");
      await opened.page.click("text=Both");
      expect(await violations(opened.page), "both").toEqual([]);
      await opened.page.keyboard.press("?");
      await opened.page.waitForSelector("dialog[open]");
      expect(await violations(opened.page), "help").toEqual([]);
      await opened.close();
      const compared = await shown(fixture({ nodes: 300, hasDiff: true }), "", {
        colorScheme: scheme,
        bypassCSP: true,
      });
      expect(await violations(compared.page), "diff").toEqual([]);
      await compared.close();
    });
  }

  it("keeps its state in the address, and goes back", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    await page.click("#tab-functions");
    await page.click(".data .link");
    await settled(page);
    expect(await hash(opened)).toMatch(/mode=both&around=/);
    await page.goBack();
    await settled(page);
    expect(await hash(opened)).toBe("#tab=functions");
    expect(await page.getAttribute("#tab-functions", "aria-selected")).toBe("true");
    await toTab(page, "threads");
    await page.click(".data .link");
    await settled(page);
    expect(await page.textContent(".chips")).toContain("only thread");
    const there = await hash(opened);
    const again = await shown(fixture({ nodes: 600 }), there.slice(1));
    expect(await total(again)).toBe(await total(opened));
    expectQuiet(opened);
    await again.close();
    await opened.close();
  });

  it("opens on what the finding is about, without scrolling", async () => {
    const opened = await shown(fixture({ nodes: 600 }), "", {
      viewport: { width: 1400, height: 900 },
    });
    const { page } = opened;
    expect(await page.textContent("h1")).toMatch(/^At the end, .* of [\d.]+\s[KMG]iB/);
    const chart = (await page.locator(".chart canvas").boundingBox())!;
    expect(chart.y).toBeLessThan(600);
    await opened.close();
  });

  it("opens at the root of a deep graph, and says where there is more", async () => {
    const data = fixture({ nodes: 3000, depth: 200 });
    const function_ = data.frames.name[data.nodes.frame[150]!]!;
    const share = { value: 0.5, lo: 0.4, hi: 0.6 };
    const site = { node: 150, function: function_, place: "", process: "", share, parts: [] };
    data.profiles[0]!.finding = { verdict: "found", lives: "", sites: [site] };
    const opened = await shown(data, "", { viewport: { width: 1400, height: 900 } });
    const { page } = opened;
    const top = () => page.locator(".chart-view").evaluate((view) => view.scrollTop);
    const edges = () => page.locator(".chart-edge").allTextContents();
    expect(await page.textContent(".detail h2")).not.toBe("");
    expect([await top(), await edges()]).toEqual([0, ["▾ more below"]]);
    await page.locator(".chart-view").evaluate((view) => (view.scrollTop = 300));
    await settled(page);
    expect(await edges()).toEqual(["▴ more above", "▾ more below"]);
    await page.check(".toolbar .switch input");
    await settled(page);
    expect(await edges()).toEqual(["▴ more above"]);
    expectQuiet(opened);
    await opened.close();
  });

  it("colours by function, or by what a switch in view says", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    const colours = () =>
      page.locator(".chart canvas").evaluate((canvas: HTMLCanvasElement) => {
        const seen = new Set<string>();
        for (let y = 40; y < canvas.height; y += 30) {
          const { data } = canvas.getContext("2d")!.getImageData(0, y, canvas.width, 1);
          for (let i = 8; i < data.length; i += 40) seen.add(data.slice(i, i + 3).join());
        }
        return [...seen].sort().join(" ");
      });
    const byFunction = await colours();
    expect(await page.inputValue(".toolbar select")).toBe("function");
    await page.selectOption(".toolbar select", "module");
    await page.waitForFunction(() => location.hash === "#colour=module");
    await settled(page);
    expect(await colours()).not.toBe(byFunction);
    await opened.close();
  });

  it("counts ranges of mappings, and no objects", async () => {
    const data = fixture({ nodes: 600 });
    Object.assign(data.profiles[0]!, { kind: "mapped", title: "Mapped at the end" });
    data.opening = "mapped";
    const opened = await shown(data);
    const { page } = opened;
    expect(await page.textContent(".detail")).toMatch(/Mapped at the end.*, [\d,]+ ranges/);
    expect(await page.textContent(".detail")).not.toMatch(/[Oo]bjects|sample/);
    await page.hover(".chart canvas", { position: { x: 200, y: 60 } });
    expect(await page.textContent(".tooltip")).toMatch(/\d ranges/);
    await toTab(page, "functions");
    const heads = (await page.locator("th").allTextContents()).join(" ");
    expect(heads).toContain("Ranges");
    expect(heads).not.toMatch(/Objects|Samples/);
    await opened.close();
  });

  it("breaks names between their parts alone, and cuts no tab or total", async () => {
    const data = fixture({ nodes: 600 });
    const [live] = data.profiles;
    const bytes = { value: 7e5, lo: 7e5, hi: 7.6e5, variance: 0, samples: 1, exact: 7e5 };
    data.profiles.push({ ...live!, kind: "peak", bytes }, { ...live!, kind: "mapped-peak", bytes });
    data.opening = "mapped-peak";
    for (const [width, height] of [[1400, 900], [768, 1024], [390, 844]] as const) {
      const opened = await shown(data, "", { viewport: { width, height } });
      const { page } = opened;
      const broken = await page.locator(".detail :is(h2, code) bdi").evaluateAll((names) =>
        names.flatMap((name) =>
          [...name.childNodes].filter((part) => {
            const range = document.createRange();
            range.selectNodeContents(part);
            return part.nodeType === Node.TEXT_NODE && range.getClientRects().length > 1;
          }).map((part) => part.textContent),
        ),
      );
      expect(broken, `${width}`).toEqual([]);
      const overlapping = await page.locator(".kinds :is(b, small)").evaluateAll((texts) => {
        const right = (element: Element) => element.getBoundingClientRect().right;
        return texts.filter((text) => right(text) > right(text.parentElement!)).map((text) => text.textContent);
      });
      expect(overlapping, `${width}`).toEqual([]);
      const list = (await page.locator(".tabs").boundingBox())!;
      for (const tab of await page.locator(".tabs button").all()) {
        const { x, width: wide } = (await tab.boundingBox())!;
        expect(x + wide).toBeLessThanOrEqual(list.x + list.width + 0.5);
      }
      await opened.close();
    }
  });

  it("separates facts from their names and remarks", async () => {
    const opened = await shown(fixture({ nodes: 60 }));
    expect(await opened.page.textContent(".facts dl")).toContain("program: server --port 1; pid 17");
    expect(await opened.page.textContent(".reading")).toBe("Click for a moment; drag to select a range");
    await opened.close();
  });

  it("chooses by a click, zooms by the second, and goes back by Escape", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    const chart = (await page.locator(".chart canvas").boundingBox())!;
    const click = () => page.mouse.click(chart.x + 60, chart.y + 45);
    await click();
    await page.waitForSelector(".detail");
    await settled(page);
    expect(await hash(opened)).toMatch(/^#at=/);
    expect(await page.textContent(".detail")).toContain("Held at the end");
    await click();
    await settled(page);
    expect(await hash(opened)).toMatch(/zoom=[0-9a-z]+.*at=/);
    await page.keyboard.press("Escape");
    await settled(page);
    expect(await hash(opened)).toMatch(/^#at=/);
    await page.keyboard.press("Escape");
    await settled(page);
    expect(await hash(opened)).toBe("");
    await page.mouse.click(chart.x + 60, chart.y + 45, { button: "right" });
    await page.click('[role=menuitem]:text-is("Callers and callees")');
    await settled(page);
    expect(await hash(opened)).toMatch(/mode=both/);
    expectQuiet(opened);
    await opened.close();
  });

  it("looks at an instant by a click in the timeline", async () => {
    const opened = await shown(fixture({ nodes: 600 }), "kind=allocated");
    const { page } = opened;
    const plot = (await page.locator(".plot .u-over").boundingBox())!;
    await page.mouse.click(plot.x + plot.width / 2, plot.y + 40);
    await settled(page);
    expect(await hash(opened)).toMatch(/kind=live&window=0-1\d\d/);
    expect(await page.textContent("h1")).toMatch(/^At (9\.9|10\.\d)\d?\ss, /);
    await opened.close();
  });

  it("shows one process, or all", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    const all = await total(opened);
    const [, first] = await page.locator("select.process option").allTextContents();
    await page.selectOption("select.process", { label: first! });
    await settled(page);
    expect(await hash(opened)).toMatch(/process=\d+/);
    expect(await total(opened)).not.toBe(all);
    expectQuiet(opened);
    await opened.close();
  });

  it("calls what a fleet adds up hosts", async () => {
    const data = fixture({ nodes: 600 });
    data.facts.push({ name: "hosts", value: "3 hosts, 2 h of their time", tone: "plain" });
    const opened = await shown(data);
    const options = await opened.page.locator("select.process option").allTextContents();
    expect(options[0]).toMatch(/, all \d+ hosts$/);
    await opened.close();
  });

  it("says how densely was sampled, in the words of each recording", async () => {
    const one = fixture({ nodes: 60 });
    one.facts = [{ name: "samples", value: "1", tone: "plain" }];
    const single = await shown(one);
    expect(await single.page.textContent(".facts summary")).toContain("1 sample ·");
    await single.close();
    const spacings = {
      "512 KiB between sampled bytes, on average": "9 samples, one per 512 KiB on average ·",
      "1 B: every allocation is recorded": "9 samples, every allocation is recorded ·",
      none: "9 samples ·", // Of another tool's profile.
    };
    for (const [value, line] of Object.entries(spacings)) {
      const data = fixture({ nodes: 600 });
      data.facts = [
        { name: "samples", value: "9", tone: "plain" },
        { name: "interval", value, tone: "plain" },
      ];
      const opened = await shown(data);
      expect(await opened.page.textContent(".facts summary")).toContain(line);
      await opened.close();
    }
  });

  it("folds library code, and shows it when asked", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    expect(await page.textContent(".toolbar")).toMatch(/\d+ library and start-up frames are folded/);
    const before = await total(opened);
    await page.click("text=Show them");
    await settled(page);
    expect(await hash(opened)).toBe("#frames=all");
    expect(await total(opened)).toBe(before);
    await opened.close();
  });

  it("hides frames, and keeps the stacks that a reader asks for", async () => {
    const opened = await shown(fixture({ nodes: 600 }), "kind=live");
    const { page } = opened;
    const before = await total(opened);
    await page.click('button:has-text("Filter frames")');
    const field = (i: number) => page.locator(".frame-filter input").nth(i);
    await field(0).fill("parse");
    await settled(page);
    expect(await total(opened)).toBe(before);
    await field(1).fill("Query");
    await settled(page);
    expect(await total(opened)).toMatch(/^Live at the end.* of [\d.]+ [KMG]iB$/);
    expect(await page.textContent(".frame-filters")).toMatch(/Shown: .* of .*match focus and ignore/);
    await field(2).fill("resize(");
    await settled(page);
    expect(await page.textContent(".frame-filters")).toContain("not applied: Unterminated group");
    await page.waitForFunction(() => location.hash.includes("ignore"));
    expect(await hash(opened)).toMatch(/hide=parse&focus=Query&ignore=resize/);
    const again = await shown(fixture({ nodes: 600 }), (await hash(opened)).slice(1));
    expect(await total(again)).toBe(await total(opened));
    await again.close();
    for (const tab of ["functions", "lines", "leaks", "stacks"] as const) await toTab(page, tab);
    expectQuiet(opened);
    await opened.close();
  });

  it("begins with the frames that the command line hides", async () => {
    const data = fixture({ nodes: 600 });
    data.preset = { all_frames: true, hide: "parse" };
    const opened = await shown(data);
    const { page } = opened;
    await page.click('button:has-text("Filter frames")');
    const field = page.locator(".frame-filter input").nth(0);
    expect(await field.inputValue()).toBe("parse");
    expect(await hash(opened)).toBe("");
    await field.fill("");
    await page.waitForFunction(() => location.hash.includes("hide="));
    await page.reload();
    await settled(page);
    expect(await hash(opened)).toBe("#hide=");
    expectQuiet(opened);
    await opened.close();
  });

  it("says once which module lacks names, where functions are shown", async () => {
    const data = fixture({ nodes: 600 });
    const without = await shown(data);
    expect(await without.page.locator(".unnamed").count()).toBe(0);
    await without.close();
    data.frames.flags = data.frames.flags.map((flags) => (flags & 2 ? flags : flags | 4));
    const opened = await shown(data);
    expect(await opened.page.textContent(".unnamed")).toMatch(
      /^100.* % .*of the bytes pass through functions without names \(.+\)\. Install the -dbgsym package of .+ geiger symbolize --debuginfod\.$/,
    );
    await toTab(opened.page, "sizes");
    expect(await opened.page.locator(".unnamed").count()).toBe(0);
    expectQuiet(opened);
    await opened.close();
  });

  it("lists the source of a line below the table, with the bytes of its lines", async () => {
    const data = fixture({ nodes: 300 });
    const file = data.names.push("/src/own.cc") - 1;
    data.frames.file.fill(file);
    data.frames.line = data.frames.line.map((_, frame) => 1 + (frame % 90));
    const lines = (of: string) => Array.from({ length: 30 }, (_, i) => `${of} ${i}`);
    data.sources = [1, 31, 61].map((from) => ({ file, from, lines: lines(`part ${from}`) }));
    const opened = await shown(data, "tab=lines");
    const { page } = opened;
    const place = (await page.textContent(".data .detail-line"))!;
    const line = Number(/:(\d+)$/.exec(place)![1]);
    await page.click(".data .link");
    await settled(page);
    expect(await hash(opened)).toMatch(/tab=lines&around=/);
    const hot = page.locator(`.source .hot:has(td:text-is("${line}"))`);
    expect(await hot.textContent()).toMatch(/^[\d.]+ [KMG]iB .*part/);
    expectQuiet(opened);
    await opened.close();
    const without = await shown(fixture({ nodes: 300 }), "tab=lines");
    expect(await without.page.locator(".source, .data .link").count()).toBe(0);
    await without.close();
  });

  it("recomputes everything for a window", async () => {
    const opened = await shown(fixture({ nodes: 600 }), "kind=allocated");
    const { page } = opened;
    const before = await total(opened);
    expect(before).toContain("exact");
    const plot = (await page.locator(".plot .u-over").boundingBox())!;
    await page.mouse.move(plot.x + 100, plot.y + 40);
    await page.mouse.down();
    await page.mouse.move(plot.x + 400, plot.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForSelector(".timeline .chip");
    await settled(page);
    expect(await hash(opened)).toMatch(/window=\d+-\d+/);
    expect(await total(opened)).toContain("±");
    await page.focus(".plot");
    const window = await hash(opened);
    await page.keyboard.press("Shift+ArrowRight");
    await page.waitForFunction((was) => location.hash !== was, window);
    await page.keyboard.press("Escape");
    await settled(page);
    expect(await total(opened)).toBe(before);
    expectQuiet(opened);
    await opened.close();
  });

  it("shows what holds memory, what is unreachable first", async () => {
    const opened = await shown(fixture({ nodes: 300 }), "tab=holders");
    const { page } = opened;
    expect(await page.textContent("#view .say")).toMatch(/^9\.5 MiB of lose is unreachable.* scanned 3 times/);
    expect(await page.locator("#view h2").allTextContents()).toEqual(["Unreachable", "Held", "Undecided"]);
    const rows = page.locator(".held tbody tr");
    expect(await page.locator("#view .unreachable tbody tr").allTextContents()).toEqual([
      "lose (store.cc:9)2 of 3 samples of its 19.1 MiB ± 3.9, unreachable: nothing points to it9.5 MiB ± 2.0",
    ]);
    expect((await rows.allTextContents()).map((text) => text.replace("▾", ""))).toEqual([
      "g_cache19.1 MiB ± 3.93.81 MiB ± 0.77",
      "append (store.cc:8)50 % ± 10 of its 19.1 MiB ± 3.9, through block (64 B) ×9; other roots hold 80 % ± 10 of it too9.5 MiB ± 2.0",
      "▸g_index9.5 MiB ± 2.01.91 MiB ± 0.39",
    ]);
    const index = page.locator(".held [aria-expanded]").nth(1);
    await index.focus();
    await page.keyboard.press("Enter");
    expect(await index.getAttribute("aria-expanded")).toBe("true");
    expect(await rows.nth(3).textContent()).toContain(", directly; ");
    await page.keyboard.press("Enter");
    expect(await rows.count()).toBe(3);
    await toTab(page, "leaks");
    expect(await page.textContent("#view")).toMatch(/lose is unreachable.*Held93 % ± 3 held by g_cache/);
    expectQuiet(opened);
    await opened.close();
  });

  it("says in a function's panel what holds its memory", async () => {
    const data = fixture({ nodes: 300 });
    data.holders!.sites[0]!.name = data.names[data.frames.name[1]!]!;
    data.frames.name = data.frames.name.map((name, frame) => (frame === 0 ? name : data.frames.name[1]!));
    const opened = await shown(data);
    expect(await opened.page.textContent(".detail")).toMatch(
      /Held by50 % ± 10 g_cache through block \(64 B\) ×950 % ± 10 g_index50 % ± 10 undecided: .*of 19\.1 MiB ± 3\.9 that it allocated itself, live 9\S* s after the start\./,
    );
    await opened.page.click("text=All holders");
    await settled(opened.page);
    expect(await hash(opened)).toBe("#tab=holders");
    await opened.close();
  });

  it("has no tab of holders where none were stored", async () => {
    const { holders: _, ...data } = fixture({ nodes: 300 });
    const opened = await shown(data, "tab=holders");
    expect(await opened.page.locator("#tab-holders, .more [value=holders]").count()).toBe(0);
    expect(await opened.page.getAttribute("#tab-flame", "aria-selected")).toBe("true");
    expectQuiet(opened);
    await opened.close();
  });

  it("says what to change, and what was not found", async () => {
    const opened = await shown(fixture({ nodes: 300 }), "tab=advice");
    expect(await opened.page.textContent("#view [aria-label=Advice]")).toMatch(
      /^1 place .*parse_rows \(parser\.cc:88\)The vector grows by copying: call reserve.*Saves286 MiB ± 19, .*Called byread_file < mainMostly fromimport_all.*mimalloc 2\.0\.9Link the program.*Saves 8 % .*not found: short-lived/,
    );
    expectQuiet(opened);
    await opened.close();
  });

  it("is walked by keyboard", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    const { page } = opened;
    await page.focus(".chart-view");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const described = await page.textContent("[role=treeitem]");
    expect(described).toMatch(/iB.* interval: /);
    await page.keyboard.press("Enter");
    await settled(page);
    expect(await hash(opened)).toMatch(/zoom=[0-9a-z]+\.[0-9a-z]+/);
    await page.keyboard.press("b");
    await settled(page);
    expect(await hash(opened)).toMatch(/mode=both/);
    await page.keyboard.press("d");
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    await opened.close();
  });

  it("says what its filters cannot tell of, and calls none of that nothing", async () => {
    const data = { ...doubtful(), opening: "allocated" };
    const opened = await shown(data);
    expect(await opened.page.locator(".open-note").count()).toBe(0);
    await opened.page.goto(opened.page.url().replace(/#.*|$/, "#focus=nothing&search=other"));
    await settled(opened.page);
    const [all, found] = await opened.page.locator(".open-note").allTextContents();
    expect(all).toMatch(/^open, in upper limits only: [\d.]+ [KM]iB of stacks that were cut, and the ends of stacks/);
    expect(found).toContain("of stacks that were cut");
    expect(await opened.page.textContent("h1")).toMatch(/^Less than .*: no sample is certain to count\.$/);
    expect(await opened.page.textContent(".kinds")).toMatch(/0 B\s*\[0 B, /);
    await opened.close();
  });

  it("searches, and says what it matched", async () => {
    const opened = await shown(fixture({ nodes: 600 }));
    await opened.page.fill("#search", "std::_Hash");
    await settled(opened.page);
    expect(await opened.page.textContent(".matched")).toMatch(/iB.*% .*functions/);
    await opened.page.fill("#search", "(");
    await settled(opened.page);
    expect(await opened.page.textContent(".matched")).toContain("taken literally");
    await opened.close();
  });

  it("draws no more of 200,000 nodes than there is to see", async () => {
    const opened = await shown(fixture({ nodes: 200000, depth: 1028 }), "", {
      viewport: { width: 1280, height: 1080 },
    });
    const canvas = opened.page.locator(".chart canvas");
    await canvas.waitFor();
    const boxes = Number(await canvas.getAttribute("data-boxes"));
    expect(boxes).toBeGreaterThan(20);
    expect(boxes).toBeLessThan(20000);
    expectQuiet(opened);
    await opened.close();
  });

  it("fits a phone", async () => {
    for (const tab of TABS) {
      const opened = await shown(fixture({ nodes: 300, hasSources: true }), `tab=${tab}`, {
        viewport: { width: 390, height: 844 },
      });
      const width = await opened.page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, tab).toBeLessThanOrEqual(390);
      const cut = await opened.page
        .locator(".scroll:has(.account)")
        .evaluateAll((regions) => regions.filter((region) => region.scrollWidth > region.clientWidth).length);
      expect(cut, tab).toBe(0);
      await opened.close();
    }
  });

  it("shows what compares without colour where chance would do", async () => {
    const opened = await shown(fixture({ nodes: 300, hasDiff: true }));
    expect(await opened.page.textContent("h1")).toMatch(
      /^changed29 \(shop\.cc:27\) held .* less than before\.$/,
    );
    expect(await opened.page.locator(".verdict.unsure").count()).toBe(4);
    expect(await opened.page.locator(".data .verdict.grew").count()).toBeGreaterThan(5);
    await opened.page.click("text=After");
    await opened.page.waitForSelector("#tab-flame");
    expectQuiet(opened);
    await opened.close();
  });

  it("lets no name act, wherever it stands", async () => {
    for (const [i, settings] of [{ hasDiff: false }, { hasDiff: true }].entries()) {
      const names = [...HOSTILE.slice(17 * i), ...HOSTILE.slice(0, 17 * i)];
      const opened = await shown(fixture({ nodes: 200, names, hasSources: true, ...settings }));
      const { page } = opened;
      for (const tab of settings.hasDiff ? [] : TABS) {
        await toTab(page, tab);
        const text = await page.evaluate(() => document.body.innerText);
        // eslint-disable-next-line no-control-regex
        expect(
          /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(text),
          tab,
        ).toBe(false);
      }
      if (!settings.hasDiff) {
        await page.click("#tab-flame");
        for (const mode of ["Both", "Callers", "Callees"]) {
          await page.click(`.toolbar button:text-is("${mode}")`);
          await page.locator(".chart canvas").first().waitFor();
        }
        await page.click("footer button");
        await page.waitForSelector("dialog[open]");
        await page.keyboard.press("Escape");
      }
      await page.hover(".chart canvas", { position: { x: 200, y: 60 } });
      await page.waitForSelector(".tooltip");
      expect(
        await page.evaluate(() => (window as unknown as { hurt?: number }).hurt),
      ).toBeUndefined();
      expect(
        await page
          .locator("main script, main img, main iframe, main a, main object, main base")
          .count(),
      ).toBe(0);
      expectQuiet(opened);
      await opened.close();
    }
  });

  it("lets nothing out by its policy", async () => {
    const opened = await shown(fixture({ nodes: 50 }));
    const outcome = await opened.page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.hurt = 1";
      document.body.append(script);
      const fetched = await fetch("https://evil.example/").then(
        () => "sent",
        () => "refused",
      );
      return [fetched, (window as unknown as { hurt?: number }).hurt];
    });
    expect(outcome).toEqual(["refused", undefined]);
    expect(opened.requests).toEqual([]);
    await opened.close();
  });

  it("says what is wrong with data that is not right", async () => {
    for (const [data, line] of [
      ["{", "this page is damaged"],
      ['{"schema":9}', "another version"],
      [{ ...fixture({ nodes: 3 }), profiles: [] }, ""],
    ] as const) {
      const opened = await shown(data as string);
      if (line) expect(await opened.page.textContent(".problem")).toContain(line);
      else expect(await opened.page.locator("main").count()).toBe(1);
      await opened.close();
    }
  });

  it("shows an empty profile", async () => {
    const data = fixture({ nodes: 1 });
    const opened = await shown(data, "kind=live");
    expect(await total(opened)).toMatch(/< 1\.85 MiB no samples$/);
    expect(await opened.page.textContent("#view")).toContain("No sample");
    expectQuiet(opened);
    await opened.close();
  });
});
