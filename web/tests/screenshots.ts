// Pictures of report pages for the documentation.
//
//   npm run screenshots -- FOLDER LEAKY.html REDIS.html DIFF.html
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launch, open } from "./browser";

interface Shot {
  name: string;
  hash: string;
  width: number;
  height: number;
  colorScheme: "light" | "dark";
}

const LEAKY: Shot[] = [
  { name: "report-light", hash: "", width: 1400, height: 900, colorScheme: "light" },
  { name: "report-narrow", hash: "", width: 390, height: 1300, colorScheme: "light" },
  { name: "report-leaks", hash: "tab=leaks", width: 1400, height: 800, colorScheme: "light" },
];
const REDIS: Shot[] = [
  { name: "report-dark", hash: "kind=allocated", width: 1400, height: 900, colorScheme: "dark" },
];
const DIFF: Shot[] = [
  { name: "report-diff", hash: "", width: 1400, height: 1000, colorScheme: "light" },
];
/** Documentation is cloned by everybody. */
const MOST_BYTES = 300 * 1024;

async function take(browser: Browser, html: string, shot: Shot, folder: string): Promise<void> {
  const { width, height, colorScheme, hash } = shot;
  const opened = await open(browser, html, { viewport: { width, height }, colorScheme, hash });
  await opened.page.waitForSelector("main");
  // Intervals come in the frames after the boxes.
  await opened.page.waitForTimeout(1000);
  const path = join(folder, `${shot.name}.png`);
  await opened.page.screenshot({ path });
  await opened.close();
  const { size } = statSync(path);
  console.log(`${path}: ${Math.round(size / 1024)} KiB`);
  if (size > MOST_BYTES) throw new Error(`${path} is larger than ${MOST_BYTES / 1024} KiB`);
}

const [folder, leaky, redis, diff] = process.argv.slice(2).filter((word) => word !== "--");
if (!folder || !leaky || !redis || !diff) {
  console.error("usage: npm run screenshots -- FOLDER LEAKY.html REDIS.html DIFF.html");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const [page, shots] of [
  [leaky, LEAKY],
  [redis, REDIS],
  [diff, DIFF],
] as const) {
  const html = readFileSync(page, "utf8");
  for (const shot of shots) await take(browser, html, shot, folder);
}
await browser.close();
