// What Chromium shows of a page's tab of holders, every root opened: JSON.
//
//   npx vite-node tests/holders.ts -- DOCUMENT
import { readFileSync } from "node:fs";
import { filled, launch, open } from "./browser";
import { settled } from "./reader";

const path = process.argv.slice(2).find((word) => word !== "--")!;
const browser = await launch();
const opened = await open(browser, filled(readFileSync(path, "utf8")), { hash: "tab=holders" });
const { page } = opened;
await page.waitForSelector("main");
await settled(page);
await page.locator(".held [aria-expanded=false]").evaluateAll((roots) => {
  for (const root of roots) (root as HTMLElement).click();
});
await settled(page);
const rows = await page.locator("#view tbody tr").evaluateAll((found) =>
  found.map((row) => {
    const texts = (of: string) => [...row.querySelectorAll(of)].map((one) => one.textContent);
    return {
      box: row.closest(".suspect")!.querySelector("h2")!.textContent,
      isBelow: row.classList.contains("below"),
      name: row.querySelector(".name bdi")!.textContent,
      detail: texts(".detail-line").join(""),
      figures: texts(".number .figure"),
    };
  }),
);
console.log(JSON.stringify({ said: await page.textContent("#view .say"), rows }));
await opened.close();
await browser.close();
