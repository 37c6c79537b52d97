// Opens an exported profile in a third-party viewer, in Chromium without a network, and prints as
// JSON what the page shows.
//
//   node open_in_browser.mjs speedscope|dhat FILE [SCREENSHOT]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const [viewer, file, screenshot] = process.argv.slice(2);
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/// speedscope loads what a script next to it hands over, as its own command line does.
async function openSpeedscope(page) {
  const release = path.resolve('node_modules/speedscope/dist/release');
  const script = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'speedscope-')), 'profile.js');
  const name = JSON.stringify(path.basename(file));
  const base64 = JSON.stringify(fs.readFileSync(file).toString('base64'));
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${name}, ${base64})`);
  await page.goto(`file://${release}/index.html#localProfilePath=${script}`);
  await page.waitForSelector('text=Sandwich');
  const titles = [];
  await page.keyboard.press('2');  // Left heavy.
  await page.waitForTimeout(300);
  if (screenshot) await page.screenshot({ path: screenshot });
  await page.keyboard.press('3');  // Sandwich.
  for (let i = 0; i < 8; ++i) {
    await page.waitForTimeout(150);
    titles.push({ title: await page.title(), body: await page.innerText('body') });
    await page.keyboard.press('n');  // The next profile of the file.
  }
  return { pages: titles };
}

async function openDhat(page) {
  await page.goto('file:///usr/libexec/valgrind/dh_view.html');
  await page.setInputFiles('input[type=file]', file);
  await page.waitForFunction(() => document.body.innerText.includes('Times {'));
  if (screenshot) await page.screenshot({ path: screenshot });
  return { body: await page.innerText('body') };
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS });
const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const requests = [];
const errors = [];
page.on('request', (request) => {
  if (!/^(file|data|blob):/.test(request.url())) requests.push(request.url());
});
page.on('pageerror', (error) => errors.push(String(error)));
page.on('dialog', (dialog) => { errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
const shown = viewer === 'speedscope' ? await openSpeedscope(page) : await openDhat(page);
await browser.close();
console.log(JSON.stringify({ ...shown, requests, errors }));
