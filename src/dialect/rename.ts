import type { ToolNames } from '../report/tool-names.ts';
import type { Dialect, Tool } from './tool.ts';

/** The new name of each tool, by its name in the dialect. Other tools keep their names. */
export type Renaming = Readonly<Record<string, string>> | ((name: string) => string);

/** Renames the tools of a dialect, also in descriptions, instructions and sentences. */
export function renameTools(dialect: Dialect, renaming: Renaming): Dialect {
  const renamed = new Map(dialect.tools.map(({ name }) => [name, newName(renaming, name)]));
  const inText = (text: string): string => withNames(text, renamed);
  return {
    ...dialect,
    tools: dialect.tools.map((tool) => ({
      ...tool,
      name: renamed.get(tool.name) ?? tool.name,
      description: inText(tool.description),
    })),
    names: mapNames(dialect.names, (name) => renamed.get(name) ?? name),
    instructions: inText(dialect.instructions),
  };
}

function newName(renaming: Renaming, name: string): string {
  return typeof renaming === 'function' ? renaming(name) : (renaming[name] ?? name);
}

/**
 * Replaces names. A word such as "Read" at the start of a sentence is a verb, and a lower-case word is a name only in
 * backquotes.
 */
function withNames(text: string, renamed: ReadonlyMap<string, string>): string {
  const names = /(?<=`)[a-z]+(?=`)|(?<![\w.-])(?<!^|[.:;] )[A-Z]\w*|[A-Za-z]+(?:_[A-Za-z]+)+/g;
  return text.replace(names, (word) => renamed.get(word) ?? word);
}

/** How sentences refer to a tool that is not offered. */
const UNNAMED = { read: 'the read tool', write: 'the write tool', edit: 'the edit tool' } as const;

/** The names of the offered tools. Sentences then suggest only these, or no tool. */
export function renamedNames({ names }: Dialect, tools: readonly Tool[]): ToolNames {
  const offered = new Set(tools.map(({ name }) => name));
  const isOffered = (name: string): boolean => names.command !== undefined || offered.has(name);
  const kept = Object.entries(names).filter(
    ([, name]) => typeof name !== 'string' || name === names.spelling || isOffered(name),
  );
  // The required names are filled in; the others may be absent.
  return { ...UNNAMED, ...Object.fromEntries(kept) } as ToolNames;
}

function mapNames(names: ToolNames, map: (name: string) => string): ToolNames {
  const { command } = names;
  if (command !== undefined) return { ...names, command: { ...command, tool: map(command.tool) } };
  const entries = Object.entries(names).map(([use, name]): [string, unknown] =>
    typeof name === 'string' && use !== 'spelling' ? [use, map(name)] : [use, name],
  );
  // The object has the same members with different texts.
  return Object.fromEntries(entries) as unknown as ToolNames;
}
