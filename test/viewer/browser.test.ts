import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser, inBrowser, SCREENS } from '../support/browser.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { Hooked } from '../support/hooked.ts';
import { IS_LONG } from '../support/rounds.ts';
import { scratch } from '../support/tree.ts';
import { type Viewed, viewed } from '../support/viewed.ts';

/** The accessibility issues that axe finds on the page. */
async function axeIssues(page: Page, colorScheme: 'light' | 'dark'): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme });
  // The dark page differs from the light one only in colours, so only the rules about colours are
  // checked.
  const rules = colorScheme === 'dark' ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {};
  return page.evaluate(async (rules) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    // Do not preload style sheets: none of the rules needs them.
    const { violations } = await axe.run({ resultTypes: ['violations'], preload: false, ...rules });
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`,
    );
  }, rules);
}

/** Presses Tab until an element that matches has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const at = `document.activeElement?.matches(${JSON.stringify(selector)}) === true`;
    if (await page.evaluate<boolean>(at)) return;
  }
  expect.fail(`Tab never reaches ${selector}`);
}

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
const text = (changes: Readonly<Record<number, string>> = {}): string =>
  `${LINES.map((line, i) => changes[i + 1] ?? line).join('\n')}\n`;

async function scene(): Promise<Desk & { readonly change: string; readonly viewer: Viewed }> {
  const t = await desk({ session: 'coder' });
  const other = await t.open({ session: 'reviewer' });
  await t.put('src/a.ts', text());
  await t.session.beginTurn({ turn: 'p1', prompt: 'Shout in two places' });
  await ok(t.session.read('src/a.ts'));
  await ok(other.read('src/a.ts', { offset: 1, limit: 10 }));
  const { change = '' } = await ok(t.session.write('src/a.ts', text({ 3: 'THREE', 35: 'THIRTY-FIVE' })));
  await refusal(other.write('src/a.ts', 'mine\n'), 'PARTIALLY_READ');
  await t.session.close();
  await other.close();
  return { ...t, change, viewer: await viewed(t) };
}

describe.skipIf(!hasBrowser).each(SCREENS)('the page on a %s', (_, size) => {
  const open = inBrowser(size);

  it('shows which session has seen and written which line', async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    await page.click('nav >> text=Files');
    await page.click('.card:has-text("a.ts")');
    await page.waitForSelector('.picture');
    const label = (await page.getAttribute('.strips', 'aria-label')) ?? '';
    expect(label).toContain('coder: knows lines 1-40; changed since none; wrote 3-3, 35-35');
    expect(label).toContain('reviewer: knows lines 1-2, 4-10; changed since 3-3; wrote none');
    // A phone has no room for the strips.
    const strip = await page.locator('.strip').first().boundingBox();
    expect(strip === null).toBe(size.width < 900);
    if (strip !== null) expect(strip.height).toBeGreaterThan(300);
    const cells = (line: number) =>
      page
        .locator(`.source-line:has(.no:text-is("${line}")) .cell`)
        .evaluateAll((all) => all.map((each) => each.className));
    await page.locator('.source').evaluate((node) => node.scrollTo(0, 0));
    await expect.poll(() => cells(3)).toEqual(expect.arrayContaining(['cell wrote', 'cell stale']));
    expect(await cells(4)).toEqual(['cell seen', 'cell seen']);
    expect(new Set(await cells(11))).toEqual(new Set(['cell seen', 'cell ']));
    await page.click('.author:has-text("coder")');
    await page.waitForSelector('.detail .diff');
    expect(await page.textContent('.known')).toContain('it had read the whole file as it was');
  });

  it('shows edits of one file as a run that opens, and refusals in words', async () => {
    const t = await desk({ session: 'coder' });
    const path = 'src/api/deeply/nested/routes-of-the-shop.txt';
    await t.put(path, 'one\n');
    await ok(t.session.read(path));
    for (const next of ['two', 'three', 'four']) await ok(t.session.write(path, `${next}\n`));
    for (const name of ['d.txt', 'e.txt']) {
      await t.put(name, 'read\n');
      await ok(t.session.read(name));
    }
    await t.put('b.txt', 'unread\n');
    await refusal(t.session.write('b.txt', 'x\n'), 'NOT_READ');
    await t.put('c.txt', 'unread\n');
    for (const next of ['x', 'y']) await refusal(t.session.write('c.txt', next), 'NOT_READ');
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.row.refusal');
    expect(await page.locator('.row.refusal .what').allTextContents()).toEqual(['2 × not read', 'not read']);
    expect(await page.textContent('.row.run.change .what')).toBe('3 overwrites of');
    expect(await page.textContent('.row.run.read')).toMatch(/^coderread 2 files/);
    const cut = await page
      .locator('.row:not(.turn) .what')
      .evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
    expect(cut).toBe(0);
    expect(await page.locator('.row.change').count()).toBe(1);
    await page.click('.row.run.change');
    expect(await page.locator('a.row.change').count()).toBe(3);
    await page.click('.row.run.change');
    expect(await page.locator('a.row.change').count()).toBe(0);
  });

  it('is worked by keys from the first moment', async () => {
    const { viewer } = await scene();
    const page = await open(viewer.url);
    await page.waitForSelector('.row.change');
    await page.keyboard.press('?');
    await page.waitForSelector('.keys');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.keys', { state: 'detached' });
    await page.keyboard.press('j');
    for (let presses = 0; presses < 20; presses += 1) {
      if (await page.evaluate<boolean>(`document.activeElement?.matches('.row.change')`)) break;
      await page.keyboard.press('j');
    }
    await page.keyboard.press('Enter');
    await page.waitForSelector('.detail .diff');
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.className');
    // A phone shows the detail in place of the row.
    await expect.poll(focused).toContain(size.width < 900 ? 'back' : 'row change');
    await page.keyboard.press('u');
    await page.waitForSelector('dialog .removed');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.keyboard.press('Escape');
    await page.waitForSelector('.welcome', { state: 'attached' });
    await expect.poll(focused).toContain('row change');
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement?.id')).toBe('search');
  });

  it('reaches every turn, filters turns and files, and closes the detail of another tab', async () => {
    const t = await desk({ session: 'coder' });
    for (let i = 1; i <= 45; i += 1) await t.session.beginTurn({ turn: `p${i}`, prompt: `Prompt ${i}.` });
    for (const name of ['a.txt', 'b.txt']) await ok(t.session.write(name, 'x\n'));
    const page = await open((await viewed(t)).url);
    await page.click('nav >> text=Turns');
    await page.waitForSelector('.card');
    for (const shown of [40, 45]) {
      await page.click('text=Show older turns');
      await expect.poll(() => page.locator('.card').count()).toBe(shown);
    }
    expect(await page.locator('text=Show older turns').count()).toBe(0);
    await page.fill('#search', 'prompt 7.');
    expect(await page.locator('.card').count()).toBe(1);
    await page.click('.card');
    await page.waitForSelector('.detail .prompt');
    await page.click('nav >> text=Files');
    await page.waitForSelector('.welcome', { state: 'attached' });
    await page.fill('#search', 'b.t');
    expect(await page.locator('.card').count()).toBe(1);
  });

  it('says how much a partly read file would have lost, and what was prevented', async () => {
    const t = await desk({ session: 'coder' });
    await t.put('src/a.ts', text());
    await ok(t.session.read('src/a.ts', { offset: 1, limit: 10 }));
    await refusal(t.session.write('src/a.ts', 'mine\n'), 'PARTIALLY_READ');
    const page = await open((await viewed(t)).url);
    await page.click('.row.refusal');
    await page.waitForSelector('.banner.right');
    expect(await page.textContent('.banner.right')).toBe(
      'Refusing was right. It would have removed 30 lines it had never seen.',
    );
    await page.click('nav >> text=Saves');
    await page.waitForSelector('.numbers');
    expect(await page.textContent('.numbers .big')).toBe('1 overwrite refused, 30 lines kept.');
  });

  it('undoes a change by click, after a preview', async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    await page.click('.row.change');
    await page.click('text=Undo this change');
    await page.waitForSelector('dialog .removed');
    expect(t.text('src/a.ts')).toContain('THREE');
    await page.locator('dialog .primary').click();
    await expect.poll(() => t.text('src/a.ts')).toBe(text());
    await page.waitForSelector('.banner:has-text("was undone")');
    await page.waitForSelector('.row.change:has-text("undo")', { state: 'attached' });
  });

  it('undoes single hunks', async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    await page.click('.row.change');
    await page.locator('.part').nth(1).click();
    await page.locator('dialog .primary').click();
    await expect.poll(() => t.text('src/a.ts')).toBe(text({ 3: 'THREE' }));
    await page.waitForSelector('.banner:has-text("Parts of this change")');
  });

  it('says before an undo what stays, and keeps later changes without asking', async () => {
    const t = await scene();
    await t.put('src/a.ts', text({ 3: 'THREE', 20: 'twenty', 35: 'THIRTY-FIVE' }));
    const later = await t.open({ session: 'later' });
    await ok(later.read('src/a.ts'));
    await ok(later.edit('src/a.ts', [{ oldString: 'line 12', newString: 'twelve' }]));
    const page = await open(t.viewer.url);
    await page.click('.row.change:has(.who:text-is("coder"))');
    await page.click('text=Undo this change');
    await page.waitForSelector('dialog .stays');
    expect(await page.textContent('dialog .stays')).toBe('1 later edit of this file stays.');
    await page.locator('dialog .primary').click();
    await expect.poll(() => t.text('src/a.ts')).toBe(text({ 12: 'twelve', 20: 'twenty' }));
  });

  it('shows the conflict, and changes nothing, if a later change is to the same lines', async () => {
    const t = await scene();
    await t.put('src/a.ts', text({ 3: 'drei', 35: 'THIRTY-FIVE' }));
    const page = await open(t.viewer.url);
    await page.click('.row.change');
    await page.click('text=Undo this change');
    await page.waitForSelector('dialog .conflict');
    expect(await page.textContent('dialog')).toMatch(/STALE[\s\S]*drei/);
    expect(await page.locator('dialog .primary').count()).toBe(0);
    expect(t.text('src/a.ts')).toContain('drei');
  });

  it('shows why an edit was refused, and what changed since the last prompt', async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    await page.click('.row.refusal');
    await page.waitForSelector('.detail dl');
    expect(await page.textContent('.detail')).toMatch(/read only a part[\s\S]*lines 1-10/);
    await page.click('nav >> text=Turns');
    await page.click('.card:has-text("since the last prompt")');
    await page.waitForSelector('.detail .diff');
    expect(await page.textContent('.detail')).toMatch(/Net result: 1 file changed\.[\s\S]*THIRTY-FIVE/);
    await page.click('text=Rewind to before this');
    await page.locator('dialog .primary').click();
    await expect.poll(() => t.text('src/a.ts')).toBe(text());
  });

  it('puts the added and removed lines on each row, and the day and the prompt above', async () => {
    let nowMs = Date.now() - 3 * 86_400_000;
    const t = await desk({ session: 'coder', now: () => nowMs });
    await t.put('src/a.ts', text());
    await t.session.beginTurn({ turn: 'p1', prompt: 'Shout in two places' });
    await ok(t.session.read('src/a.ts'));
    await ok(t.session.write('src/a.ts', text({ 3: 'THREE', 35: 'THIRTY-FIVE\nand more' })));
    nowMs += 3 * 86_400_000;
    for (const [oldString, newString] of [
      ['line 7', 'seven'],
      ['line 8\n', ''],
    ] as const)
      await ok(t.session.edit('src/a.ts', [{ oldString, newString }]));
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.row.change:has-text("+3 −2")');
    await page.waitForSelector('.row.run:has-text("2 edits of"):has-text("src/a.ts+1 −2")');
    const lines = async (): Promise<readonly string[]> =>
      page.locator('.feed li:not([role]) > *').evaluateAll((all) => all.map((each) => each.className));
    // The prompt is above the newest entry of its turn, the day above the oldest ones.
    await expect
      .poll(lines)
      .toEqual([
        'row turn',
        'row run change',
        'day dim',
        'row change',
        'row read',
        expect.stringContaining('row session'),
      ]);
    expect(await page.textContent('.row.turn')).toContain('Shout in two places');
    // The list follows the page's first heading.
    expect(await page.locator('.day').evaluate(({ tagName }) => tagName)).toBe('H2');
    const time = page.locator('a.row.change time');
    expect(await time.textContent()).toMatch(/^\d\d:\d\d$/);
    expect(await time.getAttribute('title')).toBe(
      await page.evaluate(`new Date(${nowMs - 3 * 86_400_000}).toLocaleString()`),
    );
    await page.click('.row.turn');
    await page.waitForSelector('.detail .prompt:has-text("Shout")');
  });

  it('draws lanes by the number of entries, with names that filter', async () => {
    let nowMs = Date.now() - 7_200_000;
    const t = await desk({ session: 'first', now: () => nowMs });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    for (let i = 0; i < 4; i += 1) await ok(t.session.write('a.txt', `${i}\n`));
    nowMs += 7_200_000;
    const second = await t.open({ session: 'second' });
    await ok(second.read('a.txt'));
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.mark.change');
    const places = async (kind: string): Promise<readonly number[]> =>
      page
        .locator(`.mark.${kind}`)
        .evaluateAll((all) =>
          all.map((each) => Number(/\d+/.exec(each.getAttribute('transform') ?? '')?.[0])),
        );
    const changes = await places('change');
    expect(changes.map((x, i) => x - (changes[i - 1] ?? x))).toEqual([0, 13, 13, 13]);
    expect(await page.textContent('.pause')).toBe('2 h');
    for (const name of ['first', 'second'])
      expect(await page.isVisible(`.lane:text-is("${name}")`)).toBe(true);
    expect(await page.isVisible('.lanes >> text=refusal')).toBe(true);
    await page.click('.lane:text-is("second")');
    await page.waitForSelector('.active:has-text("second")');
    await expect.poll(() => page.locator('.row.change').count()).toBe(0);
    await page.click('.lane:text-is("first")');
    await page.waitForSelector('.row:has(.who:text-is("first"))');
    await page.locator('.mark.change').last().click();
    await page.waitForSelector('.detail .diff');
  });

  it('has room for marks beside the names of many sessions with long ids', async () => {
    const t = await desk({ session: '5f2c9a4e-7c1e-4a1b-9b1a-0e3d5b7c9a11' });
    await t.put('a.txt', 'one\n');
    for (let i = 0; i < 8; i += 1)
      await ok((await t.open({ session: `${i}2c9a4e0-7c1e-4a1b-9b1a-0e3d5b7c9a11` })).read('a.txt'));
    const page = await open((await viewed(t)).url);
    await page.click('.lane:text-is("72c9a4e0")');
    const row = page.locator('.row .who').first();
    await expect.poll(() => row.textContent()).toBe('72c9a4e0');
    expect(await row.getAttribute('title')).toMatch(/^72c9a4e0-7c1e-/);
    const marks = await page.locator('.marks').boundingBox();
    expect(marks?.width).toBeGreaterThan(size.width / 2);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(size.width);
  });

  it('shares a change as an HTML file and as Markdown', async () => {
    const { viewer } = await scene();
    const page = await open(viewer.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.click('.row.change');
    await page.click('summary:text-is("Share")');
    const saved = page.waitForEvent('download');
    await page.click('text=Download as HTML');
    const download = await saved;
    expect(download.suggestedFilename()).toMatch(/^lookfirst-\d+\.html$/);
    const html = readFileSync(await download.path(), 'utf8');
    expect(html).toContain('<span class="a">+THREE</span>');
    await page.click('summary:text-is("Share")');
    await page.click('text=Copy as Markdown');
    await page.waitForSelector('.told:has-text("Copied")');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toMatch(/```diff\n[\s\S]*\+THREE/);
  });

  it('offers a demo if nothing is recorded, and opens what it recorded', async () => {
    const t = await desk({ session: 'coder' });
    await ok(t.session.write('demo.txt', 'played\n'));
    const played = await viewed(t);
    const empty = scratch();
    const page = await open((await viewed(empty, { playDemo: async () => played.url })).url, /./);
    await page.waitForSelector('text=lookfirst init claude-code --hooks');
    await page.click('text=Play a demo');
    await page.waitForSelector('.row.change:has-text("demo.txt")');
    const without = await open((await viewed(empty)).url);
    await without.waitForSelector('text=lookfirst init claude-code --hooks');
    expect(await without.locator('text=Play a demo').count()).toBe(0);
  });

  it('shows commands that destroyed what is kept, in the list, the change and the saves', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'notes.md'), 'notes\n');
    writeFileSync(join(places.root, 'draft.md'), 'draft\n');
    execFileSync('git', ['init', '-q'], { cwd: places.root });
    await new Hooked(places, { session: 'coder' }).insist('git clean -fdq');
    const page = await open((await viewed(places)).url);
    const row = page.locator('.row.change:has-text("destroyed, kept")');
    await row.waitFor();
    // The mark leaves room for the time.
    const cut = await page
      .locator('.row time')
      .evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
    expect(cut).toBe(0);
    await page.click('.row.change:has-text("destroyed, kept")');
    await page.waitForSelector('.detail .tag:has-text("destroyed, kept")');
    expect(await page.textContent('.detail .banner')).toMatch(/notes\.md.*It is kept/);
    await page.click('nav >> text=Saves');
    await page.click('section:has-text("Destroyed by commands, kept") a:has-text("git clean")');
    await page.waitForSelector('.detail .tag:has-text("destroyed, kept")');
  });
});

describe.skipIf(!hasBrowser)('the page', () => {
  const open = inBrowser();

  it('opens with the token and not without it', async () => {
    const { viewer } = await scene();
    const page = await open(viewer.url);
    await page.waitForSelector('.row.change');
    expect(page.url()).not.toContain(viewer.token);
    await page.reload();
    await page.waitForSelector('.row.change');
    const without = await open(viewer.origin);
    await without.waitForSelector('.problem');
    expect(await without.textContent('.problem')).toContain('token');
    const wrong = await open(`${viewer.origin}/#${'x'.repeat(43)}`);
    await wrong.waitForSelector('.problem');
    expect(await wrong.locator('.row').count()).toBe(0);
  });

  it('opens once with a one-time address', async () => {
    const { viewer } = await scene();
    const address = viewer.once();
    expect(address).not.toContain(viewer.token);
    const page = await open(address);
    await page.waitForSelector('.row.change');
    const again = await open(address);
    await again.waitForSelector('.problem');
    expect(await again.locator('.row').count()).toBe(0);
    expect(viewer.told.join()).toContain('already used');
  });

  it('shows new entries live while three agents work', async () => {
    const t = await desk({ session: 'one' });
    const agents = [t.session, await t.open({ session: 'two' }), await t.open({ session: 'three' })];
    await t.put('a.txt', 'one\n');
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.live.on');
    for (const [i, agent] of agents.entries()) {
      await ok(agent.read('a.txt'));
      await ok(agent.write(`new-${i}.txt`, 'x\n'));
    }
    for (const name of ['one', 'two', 'three'])
      await page.waitForSelector(`.row.change:has(.who:text-is("${name}"))`, { timeout: 100_000 });
    expect(await page.locator('.row.read').count()).toBe(3);
    expect(await page.locator('.lane').count()).toBe(3);
  });

  it("answers a new user's three questions within a few clicks of the first page", async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    let clicks = 0;
    const click = async (what: string): Promise<void> => {
      await page.click(what);
      clicks += 1;
    };
    const asked = async (question: () => Promise<void>): Promise<number> => {
      clicks = 0;
      await page.goto(`${t.viewer.origin}/#/`);
      await page.click('nav >> text=Activity');
      await question();
      return clicks;
    };
    const whyRefused = await asked(async () => {
      await click('.row.refusal');
      await page.waitForSelector('.detail dt:has-text("What the session had seen")');
    });
    const sinceMyPrompt = await asked(async () => {
      await click('nav >> text=Turns');
      await click('.card:has-text("since the last prompt")');
      await page.waitForSelector('.detail .diff');
    });
    const whoOverwrote = await asked(async () => {
      await click('nav >> text=Files');
      await click('.card:has-text("a.ts")');
      await click('.author:has-text("coder")');
      await page.waitForSelector('.known:has-text("Had it read the file?")');
      await click('text=Undo this change');
      await click('dialog .primary');
      await expect.poll(() => t.text('src/a.ts')).toBe(text());
    });
    expect({ whyRefused, sinceMyPrompt, whoOverwrote }).toEqual({
      whyRefused: 1,
      sinceMyPrompt: 2,
      whoOverwrote: 5,
    });
  });

  it('colours the syntax of a diff, shows it in two columns, and more of the file on demand', async () => {
    const { viewer } = await scene();
    const page = await open(viewer.url);
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.reload();
    await page.waitForSelector('.row.change');
    expect(loaded).not.toContain('/highlight.js');
    await page.click('.row.change');
    await page.waitForSelector('.diff .t-num');
    expect(loaded).toContain('/highlight.js');
    expect(await page.locator('.diff tr').count()).toBe(7 + 8);
    await page.click('text=Show more of the 27 unchanged lines');
    await expect.poll(() => page.locator('.diff tr').count()).toBe(42);
    expect(await page.locator('.context').count()).toBe(0);
    await page.click('text=Split');
    await expect.poll(() => page.locator('.diff tr').count()).toBe(40);
    expect(await page.locator('.diff tr:has-text("THREE") td').allTextContents()).toEqual([
      '3',
      'removed −line 3',
      '3',
      expect.stringContaining('added +THREE'),
    ]);
    await page.reload();
    await page.waitForSelector('.diff.split');
    // A narrow page has one column, and wraps its lines.
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await page.waitForSelector('.diff:not(.split)');
    const overflow = await page.locator('.diff').evaluate((node) => node.scrollWidth - node.clientWidth);
    expect(overflow).toBe(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.click('text=Unified');
  });

  it('keeps hostile names and contents inert', async () => {
    const t = await desk({ session: '<img src=x onerror=alert(1)>' });
    const name = '<script>alert(1)<\\script>\u202Efdp.exe\u001b[31m.ts';
    mkdirSync(join(t.root, 'src'));
    writeFileSync(join(t.root, 'src', name), '<script>alert(2)</script>\n\u202Etrojan\u2066 \u001b[2J\n');
    await ok(t.session.read(`src/${name}`));
    const line = '<img src=x onerror=alert(3)>\u202E\u001b[31m\n';
    await ok(t.session.write(`src/${name}`, line));
    await t.session.write('javascript:alert(4)//\u0007', 'x');
    await t.session.beginTurn({ turn: 't', prompt: '<b onclick=alert(5)>now</b>' });
    await t.session.close();
    const page = await open((await viewed(t)).url);
    page.on('dialog', () => expect.fail('a script ran'));
    await page.click('.row.change >> nth=1');
    await page.waitForSelector('.detail .diff');
    await page.click('text=who has seen this file');
    await page.waitForSelector('.picture');
    // The script is a string, because these tests are compiled without a browser's types.
    const shown = await page.evaluate<{
      text: string;
      scripts: number;
      images: string[];
      handlers: number;
    }>(`({
      text: document.body.innerText,
      scripts: document.querySelectorAll('script').length,
      images: [...document.querySelectorAll('img')].map((image) => image.getAttribute('src')),
      handlers: document.querySelectorAll('[onerror], [onclick]').length,
    })`);
    expect(shown).toMatchObject({ scripts: 1, handlers: 0 });
    expect(new Set(shown.images)).toEqual(new Set(['/icon.svg']));
    expect(shown.text).toContain('<img src=x onerror=alert(3)>\\u202e\\u001b[31m');
    expect(shown.text).not.toMatch(/[\u001b\u202a-\u202e\u2066-\u2069]/);
  });

  it.each(SCREENS)('has no accessibility issue on a %s, light and dark', async (screen, size) => {
    const t = await scene();
    const openAt = async (url: string): Promise<Page> => {
      const page = await open(url);
      await page.setViewportSize(size);
      await page.addInitScript({ path: createRequire(import.meta.url).resolve('axe-core/axe.min.js') });
      await page.reload();
      return page;
    };
    const page = await openAt(t.viewer.url);
    const check = async (what: string, checked = page): Promise<void> => {
      for (const colorScheme of ['light', 'dark'] as const) {
        // A check takes half a second, so `npm test` omits some. `npm run attack` makes all of
        // them.
        const isFirst = colorScheme === 'light' && screen === 'desktop';
        if (isFirst || IS_LONG || what === 'feed' || what === 'change')
          expect(await axeIssues(checked, colorScheme), `${what}, ${colorScheme}`).toEqual([]);
      }
    };
    const without = await openAt(t.viewer.origin);
    await without.waitForSelector('.problem');
    await check('no token', without);
    const empty = await openAt((await viewed(scratch(), { playDemo: async () => '' })).url);
    await empty.waitForSelector('text=Play a demo');
    await check('empty', empty);
    await page.bringToFront();
    await page.waitForSelector('.row.change');
    await check('feed');
    await page.keyboard.press('?');
    await page.waitForSelector('.keys');
    await check('keys');
    await page.keyboard.press('Escape');
    await page.click('.row.change');
    await page.waitForSelector('.detail .diff');
    await check('change');
    await page.click('summary:text-is("Share")');
    await check('share');
    await page.click('summary:text-is("Share")');
    await page.click('text=Undo this change');
    await page.waitForSelector('dialog .removed');
    await check('dialog');
    await page.click('dialog >> text=Cancel');
    await page.click('text=who has seen this file');
    await page.waitForSelector('.history');
    await check('file');
    if (screen === 'phone') await page.click('.back');
    await page.click('.row.refusal');
    await page.waitForSelector('.detail dl');
    await check('refusal');
    await page.click('nav >> text=Turns');
    await page.waitForSelector('.card');
    await check('turns');
    await page.click('.card');
    await page.waitForSelector('.detail .diff');
    await check('turn');
    await page.click('nav >> text=Files');
    await page.waitForSelector('.card:has-text("a.ts")');
    await check('files');
    // On a narrow page, a click on the tab leads back from the detail to the list.
    await page.click('nav >> text=Activity');
    await page.click('.row.read');
    await page.waitForSelector('.detail .head');
    await check('read');
    await page.click('nav >> text=Saves');
    await page.waitForSelector('.numbers');
    await check('numbers');
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
  });

  it('can be used with the keyboard alone', async () => {
    const t = await scene();
    const page = await open(t.viewer.url);
    await page.waitForSelector('.row.change');
    await page.keyboard.press('/');
    await page.keyboard.type('a.ts');
    await page.waitForSelector('.active:has-text("a.ts")');
    await page.locator('.feed .row').first().focus();
    // The prompt of the change is between the refusal and the change.
    for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.detail .known');
    await page.getByRole('button', { name: 'Undo this change' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog .removed');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    expect(t.text('src/a.ts')).toContain('THREE');
    // Every view is reached, and its first item opened, with Tab and Enter.
    for (const [view, item, opened] of [
      ['Turns', '.card', '.detail .prompt'],
      ['Files', '.card', '.detail .picture'],
      ['Saves', undefined, '.numbers'],
      ['Activity', '.feed .row', '.detail .head'],
    ] as const) {
      await page.locator(`nav >> text=${view}`).focus();
      await page.keyboard.press('Enter');
      if (item !== undefined) {
        await page.waitForSelector(item);
        await tabTo(page, item);
        await page.keyboard.press('Enter');
      }
      await page.waitForSelector(opened);
    }
  });
});
