import { existsSync, readFileSync } from 'node:fs';
import { Fault } from '../model/fault.ts';

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
  // Choose the folder with the bundled script. The source folder has only the style sheet.
  const folder = FOLDERS.find((each) => existsSync(new URL(`${each}app.js`, import.meta.url)));
  if (folder === undefined) throw new Fault('IO_FAILED', 'the page of the viewer is not built');
  const files = Object.entries(TYPES).map(([name, type]) => {
    const bytes = readFileSync(new URL(`${folder}${name}`, import.meta.url));
    return [name === 'index.html' ? '/' : `/${name}`, { type, bytes }] as const;
  });
  return new Map(files);
}
