import { defined } from '../../model/record.ts';
import type { ToolNames } from '../../report/tool-names.ts';
import type { Rule, ServerTable } from './table.ts';
import { WORDS_FOR_ANY } from './tool-words.ts';

/** One of the `servers` in a policy file, checked against `USER_TABLE`. */
export type UserTable = Partial<ServerTable> & Pick<ServerTable, 'id' | 'tools'>;

/** Adds defaults for the fields that the user left out. */
export function completeTable(table: UserTable): ServerTable {
  return {
    serverNames: [table.id],
    signature: [],
    relativeTo: 'root',
    expandsHome: true,
    words: wordsFor(table.tools),
    ...table,
  };
}

/**
 * Tool names for messages to the model, if the user's table has no `words`: for each purpose, the
 * first tool that serves it.
 */
function wordsFor(tools: ServerTable['tools']): ToolNames {
  const first = (...does: Rule['does'][]): string | undefined =>
    Object.keys(tools).find((name) => tools[name]?.some((rule) => does.includes(rule.does)));
  const rule = tools[first('read') ?? '']?.find((candidate) => candidate.does === 'read');
  const named = rule?.does === 'read' ? [rule.path].flat()[0] : undefined;
  const path = named === undefined || named === '.' ? 'path' : named;
  return {
    ...WORDS_FOR_ANY,
    ...defined({
      read: first('read'),
      write: first('write'),
      edit: first('edit', 'touch'),
      list: first('list'),
    }),
    arguments: { path },
  };
}
