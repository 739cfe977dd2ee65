import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

interface Finder {
  findChromium(): string | undefined;
  launchChromium(path: string): Promise<Browser>;
  readonly NO_CHROMIUM: string;
}

// `chromium.mjs` is plain JavaScript, because the scripts for pictures and benchmarks also use it,
// and they run without a compiler.
const finder = (await import(new URL('../../scripts/chromium.mjs', import.meta.url).href)) as Finder;
const program = finder.findChromium();
if (program === undefined) {
  if (process.env['CI'] === 'true') throw new Error(finder.NO_CHROMIUM);
  process.stderr.write(`skipped: ${finder.NO_CHROMIUM}\n`);
}

/** False if there is no Chromium. */
export const hasBrowser: boolean = program !== undefined;

/** The sizes of window in which the page is tested. */
export const SCREENS = [
  ['desktop', { width: 1440, height: 900 }],
  ['phone', { width: 390, height: 844 }],
] as const;

/**
 * Starts a browser for the tests of a suite. Returns a function that opens a tab at an address. The
 * tab fails its test on a request to another host, and on a console error that `expected` does not
 * match. By default, only the errors that the browser logs for refused requests are expected.
 */
export function inBrowser(
  viewport: { readonly width: number; readonly height: number } = { width: 1280, height: 800 },
): (url: string, expected?: RegExp) => Promise<Page> {
  let browser: Browser;
  let context: BrowserContext;
  // All tests share one browser context, because opening the window of a context takes longer than
  // a test. The viewer stores data only in sessionStorage, which tabs do not share.
  beforeAll(async () => {
    browser = await finder.launchChromium(program ?? '');
    // Reduce motion: an animation would be drawn sixty times a second while tests wait.
    context = await browser.newContext({ viewport, reducedMotion: 'reduce' });
    // Allow much time, as the tests' own limits do, because the machine may be busy.
    context.setDefaultTimeout(100_000);
    // Keep one tab open: closing the last tab would close the window.
    await context.newPage();
  });
  afterAll(() => browser?.close());

  return async (url, expected = /status of (401|409) /) => {
    const page = await context.newPage();
    const wrong: string[] = [];
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on(
      'request',
      (request) => new URL(request.url()).host !== new URL(url).host && wrong.push(request.url()),
    );
    onTestFinished(async () => {
      await page.close();
      expect(wrong.filter((each) => !expected.test(each))).toEqual([]);
    });
    await page.goto(url);
    return page;
  };
}
