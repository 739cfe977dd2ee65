import { isAbsolute, join } from 'node:path';
import { byPath, isOfFolder } from '../model/delta.ts';
import type { ChangeEntry, Entry, EntryOf } from '../model/entry.ts';
import type { ShownAs } from '../model/sighting.ts';
import { clip, phrase } from '../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../report/git-files.ts';
import { isFleetUrl } from '../store/open-state.ts';
import type { RecordsPlace } from './records.ts';

/** In the summary of an entry, longer commands, globs and reasons are cut to this many characters. */
const MAX_COMMAND = 40;

/**
 * A change and its path in a few words. For a command, these are the command line and, in brackets,
 * the path.
 */
export function changeOfPath(entry: Entry, path: string): string {
  return entry.action === 'run' ? `${whatOf(entry)} (${path})` : `${whatOf(entry)} ${path}`;
}

/** A summary of the event in a few words. */
export function whatOf(entry: Entry): string {
  switch (entry.kind) {
    case 'read':
      return `${entry.action ?? 'read'} ${readWords(entry, entry.lines ?? '')}`.trimEnd();
    case 'look':
      return `${entry.action ?? 'look'} ${entry.text ?? ''}`;
    case 'change':
      return changeWords(entry);
    case 'refusal':
      return refusalWords(entry, [entry.action, entry.code]);
    case 'notice':
    case 'bypass':
    case 'unjudged':
      return `${entry.kind}: ${entry.text ?? ''}`;
    case 'session':
      return `session ${entry.text ?? ''}`;
    case 'grant':
      return `${entry.grant?.revoked === true ? 'revoked' : 'allowed'}${entry.grant?.once === true ? ' once' : ''}${entry.grant?.untilMs === undefined ? '' : ' for a time'}`;
    case 'turn':
      return `turn: ${entry.label ?? entry.prompt ?? entry.turn}`;
    default:
      return entry satisfies never;
  }
}

const SHOWN: Readonly<Record<ShownAs, string>> = {
  cut: 'long lines cut',
  masked: 'secrets masked',
  described: 'described, not shown',
};

/** The lines of a read, in the given words, and how they were shown if not completely. */
export function readWords({ shown }: Pick<EntryOf<'read'>, 'shown'>, lines: string): string {
  if (shown === undefined) return lines;
  const ways = `(${shown.map((way) => SHOWN[way]).join(', ')})`;
  return shown.includes('described') ? ways : `${lines} ${ways}`;
}

/**
 * Says what was refused. In observe mode the call passed, so the words say that it would have been
 * refused. `named`: what to name, such as the action and the code.
 */
export function refusalWords(
  { observed }: Pick<EntryOf<'refusal'>, 'observed'>,
  named: readonly (string | undefined)[],
): string {
  const what = named.filter((word) => word !== undefined).join(' ');
  return observed === true ? `would have refused ${what} (it passed)` : `refused ${what}`;
}

/**
 * The full text of an entry whose summary is too short to explain it; undefined for other entries.
 */
export function detailOf({ kind, text }: Entry): string | undefined {
  return kind === 'notice' || kind === 'bypass' || kind === 'unjudged' ? text : undefined;
}

/** The full path of the file that an entry concerns. */
export function absolutePathOf({ root, path }: Pick<Entry, 'root' | 'path'>): string | undefined {
  if (path === undefined) return undefined;
  return isAbsolute(path) ? path : join(root, path);
}

function changeWords(entry: ChangeEntry): string {
  // Folders created or removed along with a file are not counted.
  const changed = byPath(entry.deltas).filter((delta) => !isOfFolder(delta));
  const { shown, gits } = apartFromGit(changed, ({ relative }) => relative);
  const files = new Set(shown.map(({ key }) => key)).size;
  const counted = files > 1 && entry.action !== 'move' ? [`${files} files`] : [];
  const named = gits.length === 0 ? counted : [...counted, GITS_OWN_FILES];
  const many = named.length === 0 ? '' : ` (${named.join(' and ')})`;
  const recovered = entry.recovered === true ? ', recovered' : '';
  const lost = entry.notices?.includes('not-kept') === true ? ', not all kept' : '';
  const part = entry.undoesPart === undefined ? '' : ' of a part';
  const action = entry.rewindTo === undefined ? (entry.action ?? 'change') : 'rewind';
  const command = action === 'run' ? ` ${clip(phrase(entry.text ?? ''), MAX_COMMAND)}`.trimEnd() : '';
  return `${action}${part}${command}${many}${lost}${recovered}`;
}

/**
 * The message for an empty list. In a store that machines share, the folder's workspace may be
 * unknown; the message then also names the option that sets it.
 */
export function nothingHere({ store, workspace }: RecordsPlace): string {
  const isUnnamed = isFleetUrl(store) && workspace === undefined;
  const named = isUnnamed ? '; --workspace NAME shows workspace NAME, if this folder is a copy of it' : '';
  return `nothing recorded here yet (--all shows every workspace${named})`;
}
