import type { ToolNames } from '../../report/tool-names.ts';
import { tendencyOf } from './tool-name.ts';

/** Tool names for a completely unknown server. */
export const WORDS_FOR_ANY: ToolNames = {
  read: 'the tool that reads a file',
  write: 'the tool that writes a file',
  edit: 'the tool that edits a file',
  arguments: { path: 'path' },
};

/** The most likely names of the read, write and edit tools in a list of unknown tools. */
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
