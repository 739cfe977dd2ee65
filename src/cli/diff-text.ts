import { Buffer } from 'node:buffer';
import type { Side } from '../model/entry.ts';
import { pathText } from '../report/bounded.ts';
import { byteSize } from '../report/byte-size.ts';
import type { Colours } from '../report/human.ts';
import type { Images } from '../store/images.ts';
import { unifiedDiff } from '../text/unified.ts';
import type { NetEffect } from './net-effects.ts';
import { findBytes } from './side-bytes.ts';

/** One path's difference, in words or as a unified diff. */
export interface PathDiff {
  readonly text: string;
  readonly truncated: boolean;
}

/** Larger files are only named: nobody reads such a diff, and both sides would be in memory. */
const MAX_BYTES = 32 << 20;
const NOTHING = Buffer.alloc(0);

/** What happened to one path: the lines that changed, or a sentence where there are no lines to show. */
export async function diffOf(images: Images, effect: NetEffect, maxLines: number): Promise<PathDiff> {
  const { before, after } = effect;
  const folder = folderLine(effect);
  if (folder !== undefined) return { text: folder, truncated: false };
  const head = [
    `--- ${nameOf('a', before, effect)}`,
    `+++ ${nameOf('b', after, effect)}`,
    ...modeLine(before, after),
  ];
  const said = sentence(before, after);
  if (said !== undefined) return { text: [...head, said].join('\n'), truncated: false };
  const bytes: Uint8Array[] = [];
  for (const side of [before, after]) {
    if (side.kind !== 'file') bytes.push(NOTHING);
    else {
      const found = await findBytes(images, side.fingerprint, effect);
      if ('missing' in found) return { text: [...head, `(${found.missing})`].join('\n'), truncated: true };
      bytes.push(found.bytes);
    }
  }
  const [was = NOTHING, is = NOTHING] = bytes;
  if (bytes.some((each) => each.includes(0))) {
    const sizes = `${byteSize(was.byteLength)} before, ${byteSize(is.byteLength)} after`;
    return { text: [...head, `(not text: ${sizes})`].join('\n'), truncated: true };
  }
  const { text, truncated } = unifiedDiff<Uint8Array>(was, is, { maxLines });
  return { text: [...head, ...(text === '' ? [] : [text])].join('\n'), truncated };
}

/** A folder that came or went, or was given other permissions: there is nothing to compare. */
function folderLine({ relative, before, after }: NetEffect): string | undefined {
  const path = pathText(relative);
  if (before.kind === 'absent' && after.kind === 'directory') return `new folder ${path}`;
  if (before.kind === 'directory' && after.kind === 'absent') return `folder ${path} removed`;
  if (before.kind !== 'directory' || after.kind !== 'directory') return undefined;
  return `folder ${path}, mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`;
}

/** Red and green where lines went and came. */
export function paintDiff(text: string, colours: Colours): string {
  return text
    .split('\n')
    .map((line) => {
      if (/^(---|\+\+\+) /.test(line)) return colours.bold(line);
      if (line.startsWith('@@')) return colours.dim(line);
      if (line.startsWith('+')) return colours.green(line);
      return line.startsWith('-') ? colours.red(line) : line;
    })
    .join('\n');
}

function nameOf(letter: 'a' | 'b', side: Side, { relative }: NetEffect): string {
  return side.kind === 'absent' ? '/dev/null' : pathText(`${letter}/${relative}`);
}

function modeLine(before: Side, after: Side): string[] {
  if (before.kind !== 'file' || after.kind !== 'file' || before.mode === after.mode) return [];
  return [`mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`];
}

/** For what has no lines. */
function sentence(before: Side, after: Side): string | undefined {
  for (const side of [before, after])
    if (side.kind === 'file' && side.fingerprint.size > MAX_BYTES)
      return `(too large to compare: ${byteSize(side.fingerprint.size)})`;
  if ([before, after].every((side) => side.kind === 'file' || side.kind === 'absent')) return undefined;
  return `(${describe(before)} became ${describe(after)})`;
}

function describe(side: Side): string {
  switch (side.kind) {
    case 'absent':
      return 'nothing';
    case 'file':
      return `a file of ${byteSize(side.fingerprint.size)}`;
    case 'link':
      return `a link to ${pathText(side.target)}`;
    case 'directory':
      return 'a folder';
    default:
      return side satisfies never;
  }
}
