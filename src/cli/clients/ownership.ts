/**
 * Whether an entry of our name, by its text, starts some other program: then it is not ours to change or to take out.
 * One that names no command, only an address or nothing at all, may be our own.
 */
export function startsAnother(entryText: string): boolean {
  return /\bcommand\b/.test(entryText) && !/lookfirst/i.test(entryText);
}

/** Why an entry of that name stays as it is. */
export function anotherServer(name: string): string {
  return `it has another server called "${name}"; rename or remove that one first`;
}
