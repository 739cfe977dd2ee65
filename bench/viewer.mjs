// Measures the viewer on a journal of a million entries in a real browser: first paint, a click, a filter, page memory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../build/store/open-state.js';
import { openSession } from '../dist/index.js';
import { findChromium, launchChromium, NO_CHROMIUM } from '../scripts/chromium.mjs';
import { playScene } from '../scripts/scene.mjs';

const ENTRIES = Number(process.env.LOOKFIRST_BENCH_ENTRIES ?? 1_000_000);
const RUNS = 5;
const project = fileURLToPath(new URL('..', import.meta.url));
const { bin } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));

export async function rows() {
  const browser = findChromium();
  if (browser === undefined) {
    process.stderr.write(`viewer skipped: ${NO_CHROMIUM}\n`);
    return [];
  }
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-bench-')));
  try {
    return await measured(base, await launchChromium(browser));
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

async function measured(base, browser) {
  const [root, home] = [join(base, 'work'), join(base, 'home')];
  mkdirSync(root);
  await fill(root, home);
  await playScene({ openSession, root, home });
  const env = { ...process.env, LOOKFIRST_HOME: home };
  const args = [join(project, bin.lookfirst), 'view', root, '--no-open'];
  const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  const url = String(line).trim();
  try {
    const first = [];
    const clicks = [];
    const meanwhile = [];
    const filters = [];
    let memory = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      const page = await context.newPage();
      await page.goto(url);
      await page.waitForSelector('.row.change');
      first.push(await page.evaluate(() => performance.getEntriesByName('first-picture')[0].startTime));
      clicks.push(
        await clicked(page, 'a.row.change', '.detail .diff'),
        await clicked(page, '.row.refusal', '.detail dl'),
      );
      await loadLists(page);
      meanwhile.push(
        await clicked(page, 'a.row.change', '.detail .diff'),
        await clicked(page, '.row.refusal', '.detail dl'),
      );
      filters.push(
        await clicked(page, '.kinds button:nth-child(2)', '.feed:not(:has(.row.read)) .row.refusal'),
      );
      for (let i = 0; i < 20; i += 1) {
        await page.evaluate(() => document.querySelector('.feed').scrollBy(0, 1e6));
        await page.waitForTimeout(20);
      }
      const session = await context.newCDPSession(page);
      await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      memory = Math.max(memory, usedSize);
      await context.close();
    }
    const note = `${ENTRIES} entries`;
    return [
      { name: `first picture, ms (${note})`, value: Math.round(median(first)), bar: 1000 },
      { name: `click until the diff is there, ms (${note})`, value: Math.round(median(clicks)), bar: 100 },
      { name: `click while the lists load, ms (${note})`, value: Math.round(median(meanwhile)), bar: 100 },
      {
        name: `click while the lists load, longest, ms (${note})`,
        value: Math.round(Math.max(...meanwhile)),
        bar: 100,
      },
      { name: `filter until rows are there, ms (${note})`, value: Math.round(median(filters)) },
      { name: `heap of the page, MB (${note})`, value: Math.round(memory / 1e6), bar: 150 },
    ];
  } finally {
    await browser.close();
    server.kill();
    await once(server, 'exit');
  }
}

/** Requests all lists several times without waiting, so that the following clicks compete with them in the server. */
function loadLists(page) {
  return page.evaluate(() => {
    const headers = { authorization: `Bearer ${sessionStorage.getItem('token')}` };
    // At most one request for each list at a time: a browser opens only six connections to a server, and a click needs one.
    for (const list of ['turns', 'files', 'saves'])
      void (async () => {
        for (let round = 0; round < 5; round += 1)
          await fetch(`/api/${list}`, { headers }).then((answer) => answer.text());
      })();
  });
}

/** Time from a click to the first frame that shows the requested content. */
function clicked(page, what, then) {
  return page.evaluate(
    ([target, expected]) =>
      new Promise((resolve) => {
        const began = performance.now();
        document.querySelector(expected)?.remove();
        document.querySelector(target).click();
        const look = () =>
          document.querySelector(expected) === null
            ? requestAnimationFrame(look)
            : resolve(performance.now() - began);
        requestAnimationFrame(look);
      }),
    [what, then],
  );
}

async function fill(root, home) {
  const store = await openStore(`sqlite:${join(home, 'lookfirst.db')}`);
  const began = Date.now() - ENTRIES * 100;
  for (let from = 0; from < ENTRIES; from += 10_000)
    await store.record({
      entries: Array.from({ length: Math.min(10_000, ENTRIES - from) }, (_, i) => entry(from + i)),
    });
  await store.close();

  function entry(i) {
    const path = `src/folder-${i % 50}/file-${i % 3000}.ts`;
    const common = { atMs: began + i * 100, session: `agent-${i % 7}`, root, path };
    if (i % 500 === 0)
      return { ...common, kind: 'turn', path: undefined, turn: `t${i}`, prompt: `Prompt ${i}` };
    if (i % 40 === 1)
      return {
        ...common,
        kind: 'refusal',
        action: 'edit',
        code: 'STALE',
        next: 'read_again',
        sha256: 'b'.repeat(64),
      };
    if (i % 10 !== 2)
      return {
        ...common,
        kind: 'read',
        action: 'read',
        lines: 'whole',
        sha256: 'a'.repeat(64),
        totalLines: 80,
      };
    const side = (letter) => ({
      kind: 'file',
      fingerprint: { sha256: letter.repeat(64), size: 900 },
      mode: 0o644,
      kept: true,
    });
    const deltas = [{ key: join(root, path), relative: path, before: side('a'), after: side('c') }];
    return { ...common, kind: 'change', action: 'edit', change: `c${i}`, deltas };
  }
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
