import { type LineRange, linesCoverage, WHOLE } from '../model/coverage.ts';
import { lineCount } from '../text/lines.ts';
import { isRanged, type ReadAccess } from './access.ts';
import { isBlanked } from './blanked.ts';
import { type NumberedText, parseNumbered } from './numbered.ts';
import { type Receipt, takeReceipts } from './receipt.ts';
import type { NumberedLines, Page, PlainLines, ToolResult } from './tool-result.ts';
import { bareView, type PageLines, pageOf, pageView, type View } from './view.ts';

/** What a successful read showed; undefined when its result does not prove that it showed the file. */
export function readView(access: ReadAccess, result: ToolResult): View | undefined {
  const { shell } = access;
  if (result.page !== undefined && shell !== true) return pageView(access.path, result.page);
  if (result.numbered !== undefined && shell !== true) return undecodedView(access, result.numbered);
  if (result.plain !== undefined && shell === true) return rawView(access, undecoded(result.plain));
  const text = shell === true ? (result.stdout ?? result.text) : result.text;
  if (text === undefined) return result.flagged ? unrecorded(access) : undefined;
  const view = shell === true ? bodyView(access, result, text) : textView(access, result, text);
  const revision = result.outcome?.revision;
  return view === undefined || revision === undefined ? view : { ...view, revision };
}

function textView(access: ReadAccess, result: ToolResult, text: string): View | undefined {
  const receipted = takeReceipts(text);
  const receipt = receipted.receipts.find(({ path }) => path === access.given || path === access.path);
  if (receipt === undefined) {
    // Numbered lines and the receipt of another file are a view of that file; below other text it is part of the text.
    const isForeign = receipted.receipts.length > 0 && parseNumbered(receipted.body) !== undefined;
    return isForeign ? undefined : bodyView(access, result, text);
  }
  const view = receiptView(access, receipt, receipted.body);
  return view !== undefined && receipted.clamped ? { ...view, clamped: true } : view;
}

function bodyView(access: ReadAccess, result: ToolResult, text: string): View | undefined {
  if (access.body === 'receipt' || isBlanked(text)) return undefined;
  const view = access.body === 'raw' ? undefined : numberedView(access, result, text);
  if (view !== undefined) return view;
  return access.body === 'numbered' || !result.flagged
    ? emptyFileView(access, text)
    : rawView(access, decoded(text));
}

/** The record says that it succeeded and keeps no text: seen, and never to be verified. */
function unrecorded(access: ReadAccess): View {
  const { path, from = 1, to } = access;
  if (!isRanged(access)) return bareView(path, { coverage: WHOLE });
  return from >= 1 && to !== undefined
    ? bareView(path, { coverage: linesCoverage([{ from, to }], Number.POSITIVE_INFINITY) })
    : bareView(path, {});
}

/**
 * Our own receipt is trusted over the arguments; its path was compared with the call's. But what a host has cut out of
 * the text since is no longer shown, whatever the receipt says.
 */
function receiptView(access: ReadAccess, receipt: Receipt, body: string): View | undefined {
  const { range, totalLines, revision } = receipt;
  const proof = revision === undefined ? {} : { revision };
  if (body !== '' && isBlanked(body)) return undefined;
  if (range === undefined)
    return bareView(access.path, { ...proof, ...(isRanged(access) ? {} : { coverage: WHOLE }) });
  const known = totalLines === undefined ? {} : { totalLines };
  if (access.body === 'receipt') {
    const coverage = linesCoverage([range], totalLines ?? Number.POSITIVE_INFINITY);
    return bareView(access.path, { ...proof, ...known, coverage });
  }
  const numbered = parseNumbered(body);
  if (!showsAll(range, numbered, body)) return undefined;
  const exact = numbered === undefined ? 'exact' : 'lines';
  const page = pageOf(numbered?.text ?? body, { ...range, ...known }, exact);
  return { ...pageView(access.path, page), ...proof };
}

/** Is every line of the receipt still there? */
function showsAll(range: LineRange, numbered: NumberedText | undefined, body: string): boolean {
  if (numbered !== undefined) return numbered.from === range.from && numbered.to === range.to;
  return lineCount(body) === (range.to === 0 ? 0 : range.to - range.from + 1);
}

function numberedView(access: ReadAccess, result: ToolResult, body: string): View | undefined {
  const numbered = parseNumbered(undecorated(body));
  if (numbered === undefined) return undefined;
  const { from, to, text } = numbered;
  if (!endsThere(access, from, to)) return pageView(access.path, pageOf(text, { from, to }, 'lines'));
  const emptyEnd = result.countsEmptyEnd === true && text.endsWith('\n');
  const page = emptyEnd
    ? pageOf(text, { from, to: to - 1, totalLines: to - 1 }, 'exact')
    : pageOf(text, { from, to, totalLines: to }, 'lines');
  return pageView(access.path, page);
}

/** The same for lines that were not decoded; see `ShownText.form`. */
function undecodedView(access: ReadAccess, numbered: NumberedLines): View {
  const { from, to, endsInEmptyLine, sha256, size } = numbered;
  const ends = endsThere(access, from, to);
  const last = ends && endsInEmptyLine ? to - 1 : to;
  const shown = { from, to: last, sha256, size, form: 'numbered' } as const;
  const totalLines = ends ? last : undefined;
  return pageView(access.path, { shown, totalLines, exact: false, clamped: false, redacted: false });
}

/** A text without line numbers, or what is known of one that was not decoded. */
interface RawText {
  readonly lines: number;
  readonly endsInNewline: boolean;
  readonly source: string | PlainLines;
}

function decoded(text: string): RawText {
  return { lines: lineCount(text), endsInNewline: text.endsWith('\n'), source: text };
}

function undecoded(plain: PlainLines): RawText {
  return { lines: plain.lines, endsInNewline: plain.endsInNewline, source: plain };
}

function rawPage({ source }: RawText, said: PageLines, exact: 'exact' | 'lines'): Page {
  if (typeof source === 'string') return pageOf(source, said, exact);
  const { from, to, totalLines } = said;
  const { sha256, size } = source;
  const shown = { from, to, sha256, size, form: 'json' } as const;
  return { shown, totalLines, exact: false, clamped: false, redacted: false };
}

function rawView(access: ReadAccess, text: RawText): View | undefined {
  const { lines } = text;
  const { from = 1, to } = access;
  if (from < 0) return tailView(access, text);
  // More than was asked for is not what was asked for.
  if (to !== undefined && lines > to - from + 1) return undefined;
  const last = from + lines - 1;
  const ends = endsThere(access, from, last);
  const shown = ends ? { from, to: last, totalLines: last } : { from, to: last };
  return pageView(access.path, rawPage(text, shown, precision(access, text)));
}

/** As many lines as asked for end the file at a line that only the disk can number; fewer are all of it. */
function tailView(access: ReadAccess, text: RawText): View | undefined {
  const asked = -(access.from ?? 0);
  const { lines } = text;
  if (lines > asked) return undefined;
  const page =
    lines < asked
      ? rawPage(text, { from: 1, to: lines, totalLines: lines }, precision(access, text))
      : rawPage(text, { from: -asked, to: -1 }, 'lines');
  return pageView(access.path, page);
}

/** The end of what was shown is the end of the file: no end was asked for, or it came before the one asked for. */
function endsThere(access: ReadAccess, from: number, last: number): boolean {
  return access.to === undefined || last < access.to || from > last;
}

/** Hosts strip the final newline off a command's output, so a text without one may not be all of the file. */
function precision(access: ReadAccess, text: RawText): 'exact' | 'lines' {
  return access.shell === true && !text.endsInNewline ? 'lines' : 'exact';
}

/** Hosts say in words that a file is empty. */
function emptyFileView(access: ReadAccess, body: string): View | undefined {
  return /\bfile exists but the contents are empty\b/.test(body.slice(0, 200))
    ? bareView(access.path, { coverage: WHOLE, totalLines: 0 })
    : undefined;
}

/** Takes a heading and reminders off, which some hosts put around numbered lines. */
function undecorated(body: string): string {
  const lines = body.startsWith("Here's the ") ? body.slice(body.indexOf('\n') + 1) : body;
  let text = lines.replace(/\n\n\[lines \d+-\d+(?: of \d+)?; [^\n\]]{1,100}\]$/, '');
  for (let trimmed = text.trimEnd(); trimmed.endsWith('</system-reminder>'); trimmed = text.trimEnd()) {
    const start = trimmed.lastIndexOf('<system-reminder>');
    if (start === -1) break;
    // Newlines only: the last line shown may end in the tab after its number.
    text = trimmed.slice(0, start).replace(/\n+$/, '');
  }
  return text;
}
