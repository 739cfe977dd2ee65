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
const UNTOUCHED = /^\],"userModified":false,"replaceAll":(true|false)\}/;
const FLAGS_BYTES = 64;

/** The edit in the rest of a result's line. Undefined if the line is not exactly as expected: then it is parsed. */
export function skimEdit(line: Buffer): SkimmedEdit | undefined {
  const at = line.indexOf(EDIT);
  const old = at === -1 ? -1 : line.indexOf(OLD, at);
  const put = old === -1 ? -1 : line.indexOf(NEW, old);
  const file = put === -1 ? -1 : line.indexOf(FILE, put);
  // From the end: the patch is shorter than the file.
  const flags = file === -1 ? -1 : line.lastIndexOf(FLAGS);
  const patch = flags === -1 ? -1 : line.lastIndexOf(PATCH, flags);
  const all = UNTOUCHED.exec(line.toString('latin1', flags, flags + FLAGS_BYTES))?.[1];
  const named = nameBefore(line, at);
  if (patch < file || all === undefined || named === undefined) return undefined;
  return {
    named,
    from: line.subarray(old + OLD.length, put),
    to: line.subarray(put + NEW.length, file),
    before: line.subarray(file + FILE.length, patch),
    all: all === 'true',
  };
}
