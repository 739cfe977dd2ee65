import { cannotEdit, type Edited, edited, type Splice, spliced } from './edit.ts';
import { jsonCommandOf } from './json-command.ts';
import { type EntryPlace, withDocument } from './json-entry.ts';
import type { Launch } from './launch.ts';
import { memberOf } from './node.ts';
import { needsNoProxy } from './ownership.ts';
import { isOurs, unwrapCommand, wrapCommand } from './wrap.ts';

/** Puts our proxy before the command of an entry that is there. Wrapping twice changes nothing but the folder. */
export function wrapJsonEntry(text: string, place: EntryPlace, prefix: Launch): Edited {
  return withDocument(text, place, ({ servers }) => {
    const entry = servers === undefined ? undefined : memberOf(servers, place.name);
    if (entry === undefined) return cannotEdit(`there is no server "${place.name}" under "${place.servers}"`);
    const nodes = jsonCommandOf(entry);
    if (nodes === undefined)
      return cannotEdit(`"${place.name}" has no command that a proxy could start`, text, entry.from);
    if (isOurs(nodes)) return cannotEdit(needsNoProxy(place.name), text, entry.from);
    const wrapped = unwrapCommand(text, nodes);
    if (wrapped !== undefined) return wrapJsonEntry(spliced(text, wrapped), place, prefix);
    return edited(
      spliced(
        text,
        wrapCommand(text, nodes, prefix, (word) => JSON.stringify(word)),
      ),
    );
  });
}

/** Takes our proxy away from every entry that has it, or only from the one named. */
export function unwrapJsonEntries(text: string, place: Partial<EntryPlace> & { servers: string }): Edited {
  return withDocument(text, place, ({ servers }) => {
    const splices = (servers?.members ?? [])
      .filter(({ key }) => place.name === undefined || key === place.name)
      .flatMap((entry): readonly Splice[] => {
        const nodes = jsonCommandOf(entry);
        return nodes === undefined ? [] : (unwrapCommand(text, nodes) ?? []);
      });
    return edited(spliced(text, splices));
  });
}
