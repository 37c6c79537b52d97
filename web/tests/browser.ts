// Debian's Chromium on a page filled with data, cut off from every network.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

const TEMPLATE = new URL("../dist/report.html", import.meta.url);
const PLACE = 'id="data"></script>';
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function chromiumPath(): string {
  return process.env.GEIGER_CHROMIUM ?? "/usr/bin/chromium";
}

export function hasChromium(): boolean {
  return existsSync(chromiumPath());
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: FLAGS });
}

/** The page that `geiger report` would make of the data. */
export function filled(data: unknown): string {
  const template = readFileSync(TEMPLATE, "utf8");
  const packed = gzipSync(typeof data === "string" ? data : JSON.stringify(data)).toString(
    "base64",
  );
  return template.replace(PLACE, () => `id="data">${packed}</script>`);
}

export interface Opened {
  page: Page;
  /** Addresses of all requests but the page's own. */
  requests: string[];
  /** Errors and warnings of the console, and uncaught ones. */
  complaints: string[];
  close: () => Promise<void>;
}

/** What the page of a window has asked for and complained of since it was opened, or whoever had the
 * window before. */
interface Seen {
  address: string;
  requests: string[];
  complaints: string[];
}

interface Window {
  context: BrowserContext;
  page: Page;
  seen: Seen;
}

async function newWindow(browser: Browser, settings: BrowserContextOptions): Promise<Window> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
  const window: Window = {
    context,
    page: await context.newPage(),
    seen: { address: "", requests: [], complaints: [] },
  };
  const complain = (text: string) => window.seen.complaints.push(text);
  await context.route("**/*", (route) => {
    const asked = route.request().url();
    if (asked.split("#")[0] === window.seen.address) return route.continue();
    window.seen.requests.push(asked);
    return route.abort();
  });
  window.page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complain(message.text());
  });
  window.page.on("pageerror", (error) => complain(String(error)));
  window.page.on("dialog", (dialog) => {
    complain(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return window;
}

/** Windows that nobody looks at, by their settings. Each costs Chromium more than all that most tests do
 * in it, and pages keep nothing from one document to the next. */
const idle = new WeakMap<Browser, Map<string, Window[]>>();

function idleWindows(browser: Browser, settings: BrowserContextOptions): Window[] {
  const ofBrowser = idle.get(browser) ?? new Map<string, Window[]>();
  idle.set(browser, ofBrowser);
  const key = JSON.stringify(settings);
  const found = ofBrowser.get(key) ?? [];
  ofBrowser.set(key, found);
  return found;
}

/** Opens HTML as a file, as a reader would. `before` runs in the page before its own script. */
export async function open(
  browser: Browser,
  html: string,
  options: BrowserContextOptions & { hash?: string; before?: () => void } = {},
): Promise<Opened> {
  const { hash, before, ...settings } = options;
  const folder = mkdtempSync(join(tmpdir(), "geiger-web-"));
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  // What runs before a page's script stays with its window.
  const windows = before ? [] : idleWindows(browser, settings);
  const window = windows.pop() ?? (await newWindow(browser, settings));
  const { context, page } = window;
  const seen = { address: pathToFileURL(file).href, requests: [], complaints: [] };
  window.seen = seen;
  if (before) await page.addInitScript(before);
  await page.goto(seen.address + (hash ? `#${hash}` : ""));
  return {
    page,
    requests: seen.requests,
    complaints: seen.complaints,
    close: async () => {
      if (before) {
        await context.close();
      } else {
        await page.mouse.move(-1, -1); // As in a new window, over nothing.
        windows.push(window);
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
