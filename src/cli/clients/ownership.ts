import { servedFolder } from './launch.ts';

/**
 * True if an entry with our name starts another program. Such an entry is not changed or removed.
 * An entry without a command, with only an address or nothing at all, may be ours.
 */
export function startsAnother(entryText: string): boolean {
  return /\bcommand\b/.test(entryText) && !/lookfirst/i.test(entryText);
}

/**
 * The reason why an entry of that name cannot be updated; undefined if it can. `words`: its command
 * line, if it has one. Arguments that the user added to it would be lost.
 */
export function whyLeftAlone(
  name: string,
  { text: entryText, words }: { readonly text: string; readonly words: readonly string[] | undefined },
): string | undefined {
  if (startsAnother(entryText))
    return `it has another server called "${name}"; rename or remove that one first`;
  // If there is a command as well, it is unknown which of the two the client uses.
  if (/\b(?:url|httpUrl)\b/.test(entryText))
    return `its "${name}" connects to an address; remove it first with lookfirst remove`;
  if (words !== undefined && servedFolder(words) === undefined)
    return `its "${name}" has arguments of the user; change them there, or remove it first with lookfirst remove`;
  return undefined;
}

/** The reason why a proxy is of no use for this entry. */
export function needsNoProxy(name: string): string {
  return `"${name}" is Lookfirst itself, which needs no gate in front of it`;
}
