// Pictures of report pages for the documentation.
//
//   npm run screenshots -- FOLDER REPORT.html [DIFF.html]
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

const REPORT: Shot[] = [
  { name: "report-light", hash: "kind=live", width: 1280, height: 1150, colorScheme: "light" },
  {
    name: "report-dark",
    hash: "kind=allocated&tab=functions",
    width: 1280,
    height: 1150,
    colorScheme: "dark",
  },
  { name: "report-narrow", hash: "kind=live", width: 390, height: 1400, colorScheme: "light" },
];
const DIFF: Shot[] = [
  { name: "report-diff", hash: "", width: 1280, height: 1000, colorScheme: "light" },
];
/** Documentation is cloned by everybody. */
const MOST_BYTES = 300 * 1024;

async function take(browser: Browser, html: string, shot: Shot, folder: string): Promise<void> {
  const { width, height, colorScheme, hash } = shot;
  const opened = await open(browser, html, { viewport: { width, height }, colorScheme, hash });
  await opened.page.waitForSelector("main");
  // Whiskers come in the frames after the boxes.
  await opened.page.waitForTimeout(1000);
  const path = join(folder, `${shot.name}.png`);
  await opened.page.screenshot({ path });
  await opened.close();
  const { size } = statSync(path);
  console.log(`${path}: ${Math.round(size / 1024)} KiB`);
  if (size > MOST_BYTES) throw new Error(`${path} is larger than ${MOST_BYTES / 1024} KiB`);
}

const [folder, report, diff] = process.argv.slice(2).filter((word) => word !== "--");
if (!folder || !report) {
  console.error("usage: npm run screenshots -- FOLDER REPORT.html [DIFF.html]");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const browser = await launch();
const html = readFileSync(report, "utf8");
for (const shot of REPORT) await take(browser, html, shot, folder);
const compared = diff ? readFileSync(diff, "utf8") : undefined;
for (const shot of compared ? DIFF : []) await take(browser, compared!, shot, folder);
await browser.close();
