import type { ToolNames } from '../../report/tool-names.ts';
import { tendencyOf } from './tool-name.ts';

/** Words for a server of which nothing is known. */
export const WORDS_FOR_ANY: ToolNames = {
  read: 'the tool that reads a file',
  write: 'the tool that writes a file',
  edit: 'the tool that edits a file',
  arguments: { path: 'path' },
};

/** The likeliest names for reading, writing and editing in a list of tools nobody has described. */
export function guessWords(tools: readonly string[]): ToolNames {
  const find = (pattern: RegExp): string | undefined => tools.find((name) => pattern.test(name));
  const reading = tools.filter((name) => tendencyOf(name) === 'reads');
  return {
    ...WORDS_FOR_ANY,
    read: reading.find((name) => /read|view|cat/i.test(name)) ?? WORDS_FOR_ANY.read,
    write: find(/write|save|create_file/i) ?? WORDS_FOR_ANY.write,
    edit: find(/edit|replace|modify|patch/i) ?? WORDS_FOR_ANY.edit,
  };
}
