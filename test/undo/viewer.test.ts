import { describe, expect, it } from 'vitest';
import { hasBrowser, inBrowser } from '../support/browser.ts';
import { desk, ok } from '../support/desk.ts';
import { viewed } from '../support/viewed.ts';

describe.skipIf(!hasBrowser)('the undo dialog', () => {
  const open = inBrowser();

  it('ignores a preview that arrives after the dialog was closed and another one opened', async () => {
    const t = await desk({ session: 'coder' });
    for (const name of ['first.txt', 'second.txt']) await ok(t.session.write(name, `${name}\n`));
    const page = await open((await viewed(t)).url);
    let answer = (): void => {};
    const isHeld = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.click('.row.change:has-text("first.txt")');
    await page.route('**/api/undo', (route) => isHeld.then(() => route.continue()), { times: 1 });
    await page.click('text=Undo this change');
    await page.click('dialog >> text=Cancel');
    await page.click('.row.change:has-text("second.txt")');
    await page.waitForSelector('.detail:has-text("second.txt")');
    await page.click('text=Undo this change');
    await page.waitForSelector('dialog .removed:has-text("second.txt")');
    const late = page.waitForResponse('**/api/undo');
    answer();
    await (await late).finished();
    await page.waitForTimeout(200);
    expect(await page.textContent('dialog')).toContain('second.txt');
    await page.click('dialog >> text=Cancel');
    await page.waitForTimeout(200);
    expect(await page.locator('dialog').count()).toBe(0);
  });
});
