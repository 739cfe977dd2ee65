import type { ToolNames } from '../../report/tool-names.ts';

/** Descriptions in place of tool names, for a server whose tools are all unknown. */
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

const CHANGING = new Set(
  (
    'write edit create delete remove move rename update set put append insert replace patch apply copy save run exec ' +
    'execute start stop kill mkdir touch add modify format sync extract upload send post import install undo restore'
  ).split(' '),
);
const READING = new Set(
  'read get list search find view show cat head tail grep glob stat info tree describe query count diff check exists fetch open ls'.split(
    ' ',
  ),
);

/**
 * Guesses a tool's effect from its name, for servers without annotations. `changes`: the name
 * contains a changing verb. `reads`: it contains only a reading verb. `unclear`: it contains
 * neither.
 */
export function tendencyOf(name: string): 'reads' | 'changes' | 'unclear' {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  if (words.some((word) => CHANGING.has(word))) return 'changes';
  return words.some((word) => READING.has(word)) ? 'reads' : 'unclear';
}
