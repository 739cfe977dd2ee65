// Finds an installed Chromium for the viewer's pictures, tests and benchmark. Downloads none.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

// Names of the program, most preferred first. The headless shell needs half the time of a full
// browser.
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

export const NO_CHROMIUM = 'no Chromium: apt-get install chromium-headless-shell, or set LOOKFIRST_CHROMIUM';

/** The path of Chromium; undefined if there is none. */
export function findChromium(env = process.env) {
  if (env.LOOKFIRST_CHROMIUM) return env.LOOKFIRST_CHROMIUM;
  const folders = (env.PATH ?? '').split(delimiter);
  for (const name of NAMES)
    for (const folder of folders) if (isProgram(join(folder, name))) return join(folder, name);
  return undefined;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a browser without a window and without network requests of its own. */
export async function launchChromium(executablePath) {
  const { chromium } = await import('playwright-core');
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    // Without this limit, each tab would start a process.
    '--renderer-process-limit=1',
  ];
  return chromium.launch({ executablePath, args });
}
