// A reader of the page that `geiger serve` keeps up to date: says what stands there, a line of JSON
// whenever that changes, until it is told to leave; then what of the page is not as it should be.
//
//   npx vite-node tests/live.ts -- ADDRESS
import { violations } from "./accessibility";
import { launch } from "./browser";

const [address] = process.argv.slice(2).filter((word) => word !== "--");
if (!address) {
  console.error("usage: vite-node tests/live.ts -- ADDRESS");
  process.exit(2);
}
const LOOK_MS = 50;

const browser = await launch();
// For the checker of accessibility; the policy itself is tested with pages in files.
const context = await browser.newContext({ bypassCSP: true });
const requests: string[] = [];
const complaints: string[] = [];
const page = await context.newPage();
page.on("request", (request) => requests.push(request.url()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (message) => {
  // A browser asks for an icon by itself, and has no token for that.
  if (message.location().url.endsWith("/favicon.ico")) return;
  if (["error", "warning"].includes(message.type())) complaints.push(message.text());
});

let isOver = false;
process.stdin.once("data", () => (isOver = true));
const answer = await page.goto(address);
let last = "";
while (!isOver) {
  // Read at one instant: a total and samples of two refreshes would be nobody's.
  const shown = await page.evaluate(() => ({
    title: document.querySelector(".process")?.textContent ?? "",
    total: document.querySelector(".kinds :checked ~ .total-value")?.textContent ?? "",
    kind: document.querySelector(".kinds :checked ~ span")?.textContent ?? "",
    body: document.body.innerText,
  }));
  if (JSON.stringify(shown) !== last) console.log((last = JSON.stringify(shown)));
  await page.waitForTimeout(LOOK_MS);
}
const found = await violations(page);
console.log(JSON.stringify({ status: answer?.status(), requests, complaints, violations: found }));
await browser.close();
process.exit();
