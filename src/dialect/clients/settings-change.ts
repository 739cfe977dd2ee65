import type { SettingsFile } from './settings-files.ts';
import {
  canonical,
  isMembers,
  parseSettingsText,
  type Settings,
  type SettingsValue,
} from './settings-value.ts';

/** The contents of a settings file before and after a change. Undefined: there is no file. */
interface SettingsChange {
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
}

/**
 * The reason why only the user may make a change of a client's settings file; undefined if an agent
 * may. An agent may not add, remove or replace our entries, switch hooks off, or make the client
 * start a program without asking. All other changes are allowed. If the file cannot be parsed, its
 * lines with our name must stay.
 */
export function forbiddenSettings(file: SettingsFile, change: SettingsChange): string | undefined {
  const versions = versionsOf(file, change);
  if (versions === undefined) return undefined;
  const entry = file.format === 'program' ? undefined : changedEntry(file, versions);
  return entry === undefined ? harmIn(file, versions) : `it would change ${entry}`;
}

/** Like `forbiddenSettings`, but allows changes of our entries, for callers that report these themselves. */
export function harmfulSettings(file: SettingsFile, change: SettingsChange): string | undefined {
  const versions = versionsOf(file, change);
  return versions && harmIn(file, versions);
}

/** The reason why a change switches hooks off or starts a program; undefined if it does neither. */
function harmIn(file: SettingsFile, { before, after, old, now }: Versions): string | undefined {
  if (file.format === 'program')
    return after === undefined && !namesUs(before ?? '') ? undefined : 'the client runs it';
  const off = newlySet(file, file.off, old, now) ?? unknownTopKey(file, old, now);
  if (off !== undefined) return `${off} switches hooks off`;
  const started = newlySet(file, file.starts, old, now);
  return started === undefined ? undefined : `${started} starts a program without asking`;
}

/** The texts and the parsed settings of a change; undefined if the text stays the same. */
function versionsOf(file: SettingsFile, change: SettingsChange): Versions | undefined {
  const [before, after] = [textOf(change.before), textOf(change.after)];
  if (before === after) return undefined;
  return { before, after, old: parsed(file, before), now: parsed(file, after) };
}

/** True if the file has an entry of ours, or a text that cannot be parsed and contains our name. */
export function holdsOurEntries(file: SettingsFile, bytes: Uint8Array | undefined): boolean {
  const text = textOf(bytes);
  const settings = parsed(file, text);
  return settings?.isValid === true ? ownEntries(file, settings).size > 0 : namesUs(text ?? '');
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

function parsed({ format }: SettingsFile, text: string | undefined): Settings | undefined {
  return text === undefined || format === 'program' ? undefined : parseSettingsText(text, format);
}

function namesUs(text: string): boolean {
  return /lookfirst/i.test(text);
}

interface Versions {
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly old: Settings | undefined;
  readonly now: Settings | undefined;
}

/** Describes what the change does to our entries; undefined if they stay unchanged. */
function changedEntry(file: SettingsFile, { before, after, old, now }: Versions): string | undefined {
  if (old?.isValid === false) return sameMarks(before, after) ? undefined : 'lines with the name lookfirst';
  const earlier = ownEntries(file, old);
  if (now?.isValid === false)
    return earlier.size === 0 ? undefined : 'our entries: the new text cannot be parsed';
  const later = ownEntries(file, now);
  const removed = [...earlier].find(([id]) => !later.has(id));
  // An added denial takes nothing away from the user.
  const added = [...later].find(([id, { isNamed }]) => isNamed && !earlier.has(id));
  const found = (removed ?? added)?.[1];
  return found === undefined ? undefined : `our entry ${found.at}`;
}

function sameMarks(before = '', after = ''): boolean {
  const marks = (text: string): string =>
    text
      .split('\n')
      .filter(namesUs)
      .map((line) => line.trim())
      .join('\n');
  return marks(before) === marks(after);
}

interface OwnEntry {
  readonly at: string;
  /** False for a denial, which does not contain our name. */
  readonly isNamed: boolean;
}

/**
 * Our entries in a file, by their place and content. If several members have the same key, the last
 * one counts.
 */
function ownEntries(file: SettingsFile, settings: Settings | undefined): ReadonlyMap<string, OwnEntry> {
  const found = new Map<string, OwnEntry>();
  if (settings?.value === undefined) return found;
  for (const key of file.entries)
    for (const { at, value } of placesOf(file, settings.value, key, 'last')) {
      const text = `${at}=${canonical(value)}`;
      if (namesUs(text)) found.set(text, { at, isNamed: true });
    }
  for (const { key, when } of file.denials ?? [])
    for (const { at, value } of placesOf(file, settings.value, key, 'last'))
      if (when?.(value) === true) found.set(`${at}=${canonical(value)}`, { at, isNamed: false });
  return found;
}

/** The first key of the rules that is set to a value that it did not have. */
function newlySet(
  file: SettingsFile,
  rules: SettingsFile['off'],
  old: Settings | undefined,
  now: Settings | undefined,
): string | undefined {
  if (now?.value === undefined) return undefined;
  for (const { key, when } of rules) {
    const known = new Set(old?.value === undefined ? [] : placesOf(file, old.value, key, 'all').map(idOf));
    const set = placesOf(file, now.value, key, 'all').filter(({ value }) => when?.(value) ?? value !== null);
    const found = set.find((place) => !known.has(idOf(place)));
    if (found !== undefined) return found.at;
  }
  return undefined;
}

/** A new key at the top for which the client ignores the file. */
function unknownTopKey(
  file: SettingsFile,
  old: Settings | undefined,
  now: Settings | undefined,
): string | undefined {
  if (file.topKeys === undefined) return undefined;
  const unknown = (settings: Settings | undefined): readonly string[] =>
    settings?.value !== undefined && isMembers(settings.value)
      ? settings.value.members.map(([key]) => key).filter((key) => !file.topKeys?.includes(key))
      : [];
  const known = unknown(old);
  return unknown(now).find((key) => !known.includes(key));
}

interface Placed {
  /** The keys that lead to the value. The place in a list is left out. */
  readonly at: string;
  readonly value: SettingsValue;
}

function idOf({ at, value }: Placed): string {
  return `${at}=${canonical(value)}`;
}

/** Which members with equal keys count: all of them, or only the last. */
type Which = 'all' | 'last';

/** The values at a key of a rule. */
function placesOf(file: SettingsFile, value: SettingsValue, key: string, which: Which): readonly Placed[] {
  return descend({ at: '', value }, key.split('.'), { splitsKeys: file.splitsKeys === true, which });
}

interface Walk {
  readonly splitsKeys: boolean;
  readonly which: Which;
}

function descend(place: Placed, steps: readonly string[], walk: Walk): readonly Placed[] {
  if (steps.length === 0) return [place];
  const { at, value } = place;
  if (Array.isArray(value))
    return steps[0] === '*'
      ? value.flatMap((item: SettingsValue) => descend({ at, value: item }, steps.slice(1), walk))
      : [];
  if (!isMembers(value)) return [];
  const members = walk.which === 'all' ? value.members : [...new Map(value.members)];
  return members.flatMap(([name, child]) => {
    const names = walk.splitsKeys ? name.split('.') : [name];
    if (!matches(names, steps)) return [];
    return descend({ at: at === '' ? name : `${at}.${name}`, value: child }, steps.slice(names.length), walk);
  });
}

function matches(names: readonly string[], steps: readonly string[]): boolean {
  return (
    names.length <= steps.length &&
    names.every((name, index) => steps[index] === '*' || steps[index] === name)
  );
}
