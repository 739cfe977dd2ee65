import { linesCoverage } from '../model/coverage.ts';
import type { SearchAccess } from './access.ts';
import type { Locate } from './accesses-of.ts';
import { shownText } from './shown-text.ts';
import type { ToolResult } from './tool-result.ts';
import type { View } from './view.ts';

/** Hits beyond this are not worth a sighting each; the search itself was bounded long before. */
const MAX_HITS = 2000;
const HIT = /^(.+?):(\d{1,9}):(.*)$/;
/** Without the name, when one file was searched. */
const BARE_HIT = /^(\d{1,9}):(.*)$/;

interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** The matching lines that a search showed, file by file, as `path:line:text`. Other forms show no lines for certain. */
export function searchViews(access: SearchAccess, result: ToolResult, locate: Locate): readonly View[] {
  const files = new Map<string, Hit[]>();
  for (const line of (result.text ?? '').split('\n', MAX_HITS)) {
    const hit = hitOf(line, access, locate);
    if (hit === undefined) continue;
    const hits = files.get(hit.path);
    if (hits === undefined) files.set(hit.path, [hit]);
    else hits.push(hit);
  }
  return [...files].map(([path, hits]) => ({
    path,
    coverage: linesCoverage(hits.map(lineOf), Number.POSITIVE_INFINITY),
    shown: hits.map((hit) => shownText(hit.text, lineOf(hit))),
    how: 'search' as const,
    clamped: false,
    redacted: false,
  }));
}

function hitOf(line: string, access: SearchAccess, locate: Locate): Hit | undefined {
  const [, bare, bareText] = access.target === undefined ? [] : (BARE_HIT.exec(line) ?? []);
  if (bare !== undefined && bareText !== undefined && access.target !== undefined)
    return { path: access.target, line: Number(bare), text: bareText };
  const [, given, number, text] = HIT.exec(line) ?? [];
  const path = given === undefined ? undefined : locate(given, access.base);
  return path === undefined || text === undefined ? undefined : { path, line: Number(number), text };
}

function lineOf(hit: Hit): { from: number; to: number } {
  return { from: hit.line, to: hit.line };
}
