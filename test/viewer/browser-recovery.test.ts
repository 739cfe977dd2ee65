import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasBrowser, inBrowser } from '../support/browser.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { recordNotices, viewed } from '../support/viewed.ts';

describe.skipIf(!hasBrowser)('the page', () => {
  const open = inBrowser();

  it('says that a list could not be loaded, and loads it when the server answers again', async () => {
    const t = await desk({ session: 'coder' });
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url, /ERR_FAILED/);
    await page.waitForSelector('.row.change');
    await page.route('**/api/**', (route) => route.abort());
    await page.fill('#search', 'a.t');
    await page.waitForSelector('p:has-text("could not be loaded")');
    expect(await page.textContent('.list')).not.toContain('No entry matches');
    await page.unroute('**/api/**');
    await page.waitForSelector('.row.change');
    expect(await page.textContent('.list')).not.toContain('could not be loaded');
  });

  it('fetches an opened entry again when the server answers again', async () => {
    const t = await desk({ session: 'coder' });
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url, /ERR_FAILED/);
    await page.waitForSelector('.row.change');
    await page.route('**/api/**', (route) => route.abort());
    await page.click('.row.change');
    await page.waitForSelector('.detail .bad');
    await page.unroute('**/api/**');
    await page.waitForSelector('.detail .diff');
  });

  it('updates its lists after a request for them failed', async () => {
    const t = await desk({ session: 'coder' });
    const page = await open((await viewed(t)).url, /ERR_FAILED/);
    await page.waitForSelector('.live.on');
    await page.click('nav >> text=Files');
    await page.waitForSelector('p:has-text("No file was changed yet")');
    const failed = page.waitForEvent('requestfailed');
    await page.route('**/api/files', (route) => route.abort());
    await ok(t.session.write('a.txt', 'one\n'));
    await failed;
    await page.unroute('**/api/files');
    await page.waitForSelector('.card:has-text("a.txt")');
  });

  it.each(['are open', 'are opened'])(
    'updates its numbers if a request for them failed while they %s',
    async (when) => {
      const t = await desk({ session: 'coder' });
      await t.put('a.txt', 'one\n');
      const page = await open((await viewed(t)).url, /ERR_FAILED/);
      await page.click('nav >> text=Saves');
      await page.waitForSelector('.big:text-is("Nothing had to be prevented.")');
      if (when === 'are opened') await page.click('nav >> text=Activity');
      const failed = page.waitForEvent('requestfailed');
      await page.route('**/api/saves', (route) => route.abort());
      await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
      if (when === 'are opened') {
        await page.waitForSelector('.row.refusal');
        await page.click('nav >> text=Saves');
      }
      await failed;
      await page.unroute('**/api/saves');
      await page.waitForSelector('.big:text-is("1 overwrite refused, 1 line kept.")');
    },
  );

  it('shows every entry after it missed very many', async () => {
    const t = await desk({ session: 'coder' });
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url, /ERR_FAILED/);
    await page.waitForSelector('.row.change');
    await page.route('**/api/live**', (route) => route.abort());
    await recordNotices(t, 600);
    const before = await page.getAttribute('.row.change', 'href');
    await page.unroute('**/api/live**');
    await page.waitForSelector('.row.notice');
    // Scroll until the oldest entry is shown.
    const total = async (): Promise<number> => {
      await page.locator('.feed').evaluate((node) => node.scrollTo(0, node.scrollHeight));
      return Number(await page.locator('.feed li[aria-setsize]').last().getAttribute('aria-setsize'));
    };
    await expect.poll(total).toBeGreaterThan(600);
    await page.waitForSelector(`.row.change[href="${before}"]`);
  });

  it('lists each entry once if it is recorded while a filter is applied', async () => {
    const t = await desk({ session: 'coder' });
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.live.on');
    // The entry is recorded while the request of the filter waits here. So the page gets the entry
    // twice: as a live update, and in the answer to the request.
    let pass = (): void => {};
    const passed = new Promise<void>((resolve) => {
      pass = resolve;
    });
    const asked = page.waitForRequest('**/api/feed**');
    await page.route(
      '**/api/feed**',
      async (route) => {
        await passed;
        await route.fulfill({ response: await route.fetch() });
      },
      { times: 1 },
    );
    await page.fill('#search', 'a.t');
    await asked;
    await ok(t.session.write('a.txt', 'one\n'));
    await page.waitForSelector('.row.change');
    pass();
    await expect.poll(() => page.locator('p:has-text("searching")').count()).toBe(0);
    expect(await page.locator('.row.change').count()).toBe(1);
  });

  it('keeps the letters in the search field while new entries arrive', async () => {
    const t = await desk({ session: 'coder' });
    await t.put('a.txt', 'one\n');
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.live.on');
    await page.focus('#search');
    for (const letter of 'a/long/path') {
      await page.keyboard.type(letter);
      await ok(t.session.read('a.txt'));
      await page.waitForTimeout(150);
    }
    expect(await page.inputValue('#search')).toBe('a/long/path');
  });

  it('shows everything of a turn, whatever was filtered before', async () => {
    const t = await desk({ session: 'coder' });
    await t.session.beginTurn({ turn: 'p1', prompt: 'Shout' });
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url);
    await page.click('.kinds >> text=Refusals');
    await page.waitForSelector('p:has-text("No entry matches")');
    await page.click('nav >> text=Turns');
    await page.click('.card');
    await page.click('text=everything in this turn');
    await page.waitForSelector('.row.change');
  });

  it('stays where the user has scrolled to, even if an entry is open and new ones arrive', async () => {
    const t = await desk({ session: 'coder' });
    await recordNotices(t, 100);
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url);
    await page.click('.row.change');
    await page.waitForSelector('.detail .diff');
    const feed = page.locator('.feed');
    await feed.evaluate((node) => node.scrollTo(0, 2000));
    const total = (): Promise<string | null> =>
      page.locator('.feed li[aria-setsize]').last().getAttribute('aria-setsize');
    const before = await total();
    await ok(t.session.write('b.txt', 'two\n'));
    await expect.poll(total).not.toBe(before);
    expect(await feed.evaluate((node) => node.scrollTop)).toBeGreaterThan(1500);
  });

  it('shows the message for a missing token as a paragraph', async () => {
    const page = await open((await viewed(await desk())).origin);
    const box = await page.locator('.problem p').boundingBox();
    expect(box?.width).toBeGreaterThan(300);
  });

  it('opens with an address that names no file', async () => {
    const viewer = await viewed(await desk());
    const page = await open(viewer.url);
    await page.waitForSelector('header.top');
    await page.goto(`${viewer.origin}/#/file/%zz/a`);
    await page.reload();
    await page.waitForSelector('header.top');
  });

  it('links to a refused path that no address can contain', async () => {
    const t = await desk({ session: 'coder' });
    await refusal(t.session.write('half\ud800.txt', 'x'), 'INVALID_ARGUMENT');
    const page = await open((await viewed(t)).url);
    await page.click('.row.refusal');
    await page.waitForSelector('.detail dl');
    await page.click('nav >> text=Files');
    await page.waitForSelector('.card:has-text("half\\\\ud800.txt")');
  });

  it('writes the first hour of a day as 00', async () => {
    const midnight = new Date(2026, 0, 1, 0, 5, 3).getTime();
    const t = await desk({ session: 'coder', now: () => midnight });
    await ok(t.session.write('a.txt', 'one\n'));
    const page = await open((await viewed(t)).url);
    await page.waitForSelector('.row.change');
    expect(await page.textContent('.row.change time')).toBe('00:05');
  });

  it('makes line breaks and invisible characters in names visible', async () => {
    const t = await desk({ session: 'coder' });
    const names = ['a\nb.txt', 'tab\there.txt', 'zero\u200bwidth.txt'];
    for (const name of names) {
      writeFileSync(join(t.root, name), 'one\n');
      await ok(t.session.read(name));
    }
    const page = await open((await viewed(t)).url);
    await page.click('.row.run.read');
    await expect.poll(() => page.locator('.row.read .path').allTextContents()).toHaveLength(3);
    expect(await page.locator('.row.read .path').allTextContents()).toEqual([
      'zero\\u200bwidth.txt',
      'tab\\u0009here.txt',
      'a\\u000ab.txt',
    ]);
  });
});
