import { nextOf, standsAt } from './byte-match.ts';
import { type Named, nameBefore } from './claude-name.ts';

/** An edit's result, taken from its line without parsing it. Texts are as JSON writes them. */
export interface SkimmedEdit {
  readonly named: Named;
  /** All of the file before the edit. */
  readonly before: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
  /** Every occurrence was replaced, and not the first alone. */
  readonly all: boolean;
}

const EDIT = Buffer.from(',"toolUseResult":{"filePath":"');
const OLD = Buffer.from('","oldString":"');
const NEW = Buffer.from('","newString":"');
const FILE = Buffer.from('","originalFile":"');
const PATCH = Buffer.from('","structuredPatch":[');
const FLAGS = Buffer.from('],"userModified":');
const FIRST = Buffer.from('],"userModified":false,"replaceAll":false}');
const EVERY = Buffer.from('],"userModified":false,"replaceAll":true}');

/** The edit in the rest of a result's line. Undefined if the line is not exactly as expected: then it is parsed. */
export function skimEdit(line: Buffer): SkimmedEdit | undefined {
  const at = line.indexOf(EDIT);
  const old = at === -1 ? -1 : nextOf(line, OLD, at + EDIT.length);
  const put = old === -1 ? -1 : nextOf(line, NEW, old + OLD.length);
  const file = put === -1 ? -1 : nextOf(line, FILE, put + NEW.length);
  // From the end: the patch is shorter than the file.
  const flags = file === -1 ? -1 : line.lastIndexOf(FLAGS);
  const patch = flags === -1 ? -1 : line.lastIndexOf(PATCH, flags);
  const all = standsAt(line, EVERY, flags);
  if (patch < file || !(all || standsAt(line, FIRST, flags))) return undefined;
  const named = nameBefore(line, at);
  if (named === undefined) return undefined;
  return {
    named,
    from: line.subarray(old + OLD.length, put),
    to: line.subarray(put + NEW.length, file),
    before: line.subarray(file + FILE.length, patch),
    all,
  };
}
