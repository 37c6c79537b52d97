// What axe-core, which nobody here wrote, finds wrong with a page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Axe {
  run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}

/** Serious or not. The page's context must let the checker in: `bypassCSP`. */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const found = await (window as unknown as { axe: Axe }).axe.run();
    return found.violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`,
    );
  });
}
