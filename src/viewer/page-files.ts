import { readFileSync } from 'node:fs';
import { Fault, isMissing } from '../model/fault.ts';

/** A file of the page, as the build has bundled it. */
interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array;
}

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'highlight.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

/**
 * The folders that may contain the page, relative to this file: in the bundled package, or in a
 * checkout.
 */
const FOLDERS = ['../viewer/page/', '../../dist/viewer/page/'];

/** Reads the page's files, which are part of this package, by the paths of their addresses. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const files = Object.entries(TYPES).map(
    ([name, type]) => [`/${name}`, { type, bytes: bytesOf(name) }] as const,
  );
  return new Map([['/', { type: TYPES['index.html'], bytes: bytesOf('index.html') }], ...files]);
}

function bytesOf(name: string): Uint8Array {
  for (const folder of FOLDERS) {
    // Choose the folder with the bundled script, because all files must come from one folder. The
    // source folder has only the style sheet.
    const script = new URL(`${folder}app.js`, import.meta.url);
    try {
      readFileSync(script);
      return readFileSync(new URL(`${folder}${name}`, import.meta.url));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  throw new Fault('IO_FAILED', `the page of the viewer is not built: ${name} is missing`);
}
