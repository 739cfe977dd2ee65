import { hash } from 'node:crypto';
import { WHOLE } from '../../model/coverage.ts';
import { bareView, type View } from '../view.ts';
import { type Named, nameBefore } from './claude-name.ts';
import { endsInNewline, newlinesIn, replaceLiteral } from './json-literal.ts';

/** An edit's result, taken from its line without parsing it. Texts are as JSON writes them. */
export interface SkimmedEdit extends Named {
  readonly before: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
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
const CARRIAGE_RETURN = Buffer.from('\\r');
const NEWLINE_BYTES = '\\n'.length;

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
    ...named,
    from: line.subarray(old + OLD.length, put),
    to: line.subarray(put + NEW.length, file),
    before: line.subarray(file + FILE.length, patch),
    all: all === 'true',
  };
}

/**
 * What the model knows of a file after such an edit: all of it if it had seen all of it as it was before. Undefined when
 * that cannot be told from these bytes alone, such as after views of some lines: then the line is parsed.
 */
export function carriedEdit(path: string, earlier: readonly View[], edit: SkimmedEdit): View | undefined {
  const { before, from, to, all } = edit;
  let sha256: string | undefined;
  for (const view of earlier.toReversed()) {
    if (view.coverage.kind === 'none') continue;
    const [shown] = view.shown ?? [];
    if (view.coverage.kind !== 'whole' || shown?.form !== 'json' || view.totalLines === undefined)
      return undefined;
    if (shown.size !== before.length) {
      // The same text may be shown without its final newline, or with other line endings.
      if (Math.abs(shown.size - before.length) === NEWLINE_BYTES || before.includes(CARRIAGE_RETURN))
        return undefined;
      continue;
    }
    sha256 ??= hash('sha256', before);
    if (sha256 === shown.sha256) return replaced(path, view.totalLines, { before, from, to, all });
  }
  return bareView(path, { how: 'edit' });
}

function replaced(path: string, totalLines: number, edit: Omit<SkimmedEdit, keyof Named>): View | undefined {
  const { before, from, to } = edit;
  const after = replaceLiteral(before, edit);
  if (after === undefined) return undefined;
  const added = after.count * (newlinesIn(to) - newlinesIn(from));
  const lines = totalLines + unended(after.literal) - unended(before) + added;
  const { length: size } = after.literal;
  const shown = { from: 1, to: lines, sha256: hash('sha256', after.literal), size, form: 'json' } as const;
  return bareView(path, { coverage: WHOLE, totalLines: lines, shown: [shown], how: 'edit' });
}

/** One line more than newlines, if the last one has none. */
function unended(literal: Buffer): number {
  return literal.length === 0 || endsInNewline(literal) ? 0 : 1;
}
