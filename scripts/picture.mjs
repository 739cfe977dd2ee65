// Makes the README's pictures of the viewer, light and dark, from a scene that is played through the real gate.
//   npm run picture
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSession } from '../dist/index.js';
import { findChromium, launchChromium, NO_CHROMIUM } from './chromium.mjs';
import { playScene } from './scene.mjs';

const PAUSE_MS = 400;
const program = findChromium();
if (program === undefined) throw new Error(NO_CHROMIUM);
const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-picture-')));
const [root, home] = [join(base, 'shop'), join(base, 'home')];
mkdirSync(root);
const browser = await launchChromium(program);
let server;
try {
  await playScene({ openSession, root, home, pauseMs: PAUSE_MS });
  const env = { ...process.env, LOOKFIRST_HOME: home };
  const options = { env, cwd: root, stdio: ['ignore', 'pipe', 'inherit'] };
  server = spawn(process.execPath, ['dist/bin/lookfirst.js', 'view', root, '--no-open'], {
    ...options,
    cwd: '.',
  });
  const [line] = await once(server.stdout, 'data');
  for (const colorScheme of ['light', 'dark']) await take(String(line).trim(), colorScheme);
} finally {
  await browser.close();
  server?.kill();
  rmSync(base, { recursive: true, force: true });
}

/**
 * Saves two pictures of the viewer: the history of a file, and the change in which one agent
 * overwrote another agent's function.
 */
async function take(url, colorScheme) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  // WebP has a third of the size of a PNG.
  const save = async (path) => {
    await page.waitForTimeout(300);
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
    writeFileSync(path, Buffer.from(data, 'base64'));
  };
  await page.goto(url);
  await page.waitForSelector('.row.change');
  await page.click('nav >> text=Files');
  await page.click('.card:has-text("cart.ts")');
  await page.waitForSelector('.history');
  await page.evaluate((shown) => {
    // Hide the random name of the temporary folder.
    document.querySelector('.folder bdi').textContent = shown;
  }, '~/shop');
  await save(`docs/viewer-file-${colorScheme}.webp`);
  await page.click('nav >> text=Activity');
  await page.click('.row.change:has(.who:text-is("reviewer"))');
  await page.waitForSelector('.detail .diff');
  await save(`docs/viewer-${colorScheme}.webp`);
  await context.close();
}
