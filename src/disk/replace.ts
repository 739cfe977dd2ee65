import { closeSync, fstatSync } from 'node:fs';
import type { FileKind, Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { publishByClaim } from './claim.ts';
import { type Committed, committed, mayHideWrites, type NewContent } from './committed.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { publishByExchange } from './exchange.ts';
import { changeFailed } from './failure.ts';
import { discardOurs, type Publication, type Published } from './publication.ts';
import { type Opened, openLooked, openRegular, type Unreadable } from './read.ts';
import { isReadOnly } from './stats.ts';
import { discard, openStaged, type Staged, stageTemp, type TempFile, writeTemp } from './temp-file.ts';

/** Nothing of ours was published. `retained`: files displaced for a moment whose names others have taken since. */
export interface Conflict {
  readonly ok: false;
  readonly reason: 'changed' | 'missing' | 'exists' | 'kind' | 'read-only' | 'denied';
  readonly kind?: FileKind;
  readonly errno?: string;
  readonly retained: readonly string[];
}

export function conflict(reason: Conflict['reason'], more: Partial<Conflict> = {}): Conflict {
  return { retained: [], ...more, ok: false, reason };
}

export interface Replacement extends NewContent {
  readonly expected: Expected;
  /** Permission bits of the new file; default: those of the old one. */
  readonly mode?: number;
  /** Its bytes were read a moment ago: what is there is a regular file, or the change is too late. */
  readonly looked?: true;
  /** What is replaced are bytes that we have just put there: given up, if there is no room to keep them. */
  readonly ours?: true;
}

/**
 * Replaces a file if it holds the expected bytes: compared just before, and what came out verified just after.
 * Keeps mode, owner and attributes; other hard links keep the old bytes. The old file is kept in our own folder.
 * A crash leaves the old file, the new one, or (claim only) a name the next start gives back.
 */
export async function replace(
  context: DiskContext,
  place: Place,
  change: Replacement,
): Promise<Committed | Conflict> {
  const old = change.looked ? openLooked(place) : openRegular(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats) && change.expected.evenReadOnly !== true) return conflict('read-only');
    const temp = await tempFor(context, place, { ...change, old });
    if (temp === undefined) return conflict('changed');
    try {
      const { expected, bytes: intended, ours } = change;
      const publication = { place, temp, old: { ...old }, expected, intended, ...(ours ? { ours } : {}) };
      return publish(context, publication, change);
    } finally {
      closeSync(temp.fd);
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

async function tempFor(
  context: DiskContext,
  place: Place,
  { bytes, mode, old, staged }: Pick<Replacement, 'bytes' | 'mode' | 'staged'> & { readonly old: Opened },
): Promise<TempFile | undefined> {
  if (staged !== undefined) return openStaged(place, staged);
  const like = { kind: 'replaces', ...old, ...(mode === undefined ? {} : { mode }) } as const;
  return writeTemp(context, place, { bytes, like });
}

/** Writes the successor of a file ahead of `replace`; undefined if there is no file that could be read. */
export async function stageReplacement(
  context: DiskContext,
  place: Place,
  content: Pick<Replacement, 'bytes' | 'mode'>,
): Promise<Staged | undefined> {
  const old = openRegular(place);
  if ('problem' in old) return undefined;
  try {
    const like = {
      kind: 'replaces',
      ...old,
      ...(content.mode === undefined ? {} : { mode: content.mode }),
    } as const;
    return await stageTemp(context, place, { bytes: content.bytes, like });
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

function publish(context: DiskContext, publication: Publication, content: NewContent): Committed | Conflict {
  const { place, temp, old, expected } = publication;
  let hidesWrites: boolean;
  let published: Published;
  try {
    context.trace?.('compare');
    // Times as they are when the bytes are known to be right: a later write shows in them.
    const stats = fstatSync(old.fd, { bigint: true });
    if (!holds(old.fd, expected)) {
      discard(temp);
      return conflict('changed');
    }
    hidesWrites = mayHideWrites(context, place, temp);
    published = exchangeOrClaim(context, { ...publication, old: { fd: old.fd, stats } });
  } catch (error) {
    discardOurs(context, publication);
    throw error;
  }
  if (!published.ok) return conflict('changed', { retained: published.retained });
  const others = Number(old.stats.nlink) - 1;
  const broken: Notice[] = others > 0 ? [{ kind: 'hard-links-broken', count: others }] : [];
  const notices = [...temp.notices, ...broken];
  return { ...committed(temp, { content, hidesWrites }), displaced: published.displaced, notices };
}

function exchangeOrClaim(context: DiskContext, publication: Publication): Published {
  const published =
    context.native === undefined ? 'unsupported' : publishByExchange(context, context.native, publication);
  return published === 'unsupported' ? publishByClaim(context, publication) : published;
}

export function unreadable(problem: Unreadable): Conflict {
  switch (problem.problem) {
    case 'missing':
      return conflict('missing');
    case 'swapped':
      return conflict('changed');
    case 'kind':
      return conflict('kind', { kind: problem.kind });
    case 'denied':
      return conflict('denied', { errno: problem.errno });
    case 'too-large':
      return conflict('changed');
    default:
      return problem satisfies never;
  }
}
