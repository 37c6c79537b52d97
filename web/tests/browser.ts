// Debian's Chromium on a page filled with data, cut off from every network.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

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
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
  const requests: string[] = [];
  const complaints: string[] = [];
  const address = pathToFileURL(file).href;
  await context.route("**/*", (route) => {
    const asked = route.request().url();
    if (asked.split("#")[0] === address) return route.continue();
    requests.push(asked);
    return route.abort();
  });
  const page = await context.newPage();
  if (before) await page.addInitScript(before);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address + (hash ? `#${hash}` : ""));
  return {
    page,
    requests,
    complaints,
    close: async () => {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
