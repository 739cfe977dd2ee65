import { isRecord, type JsonRecord } from '../../model/record.ts';
import type { ToolNames } from '../../report/tool-names.ts';
import { ruleProblems } from './rule-shape.ts';
import type { Rule, ServerTable } from './table.ts';
import { WORDS_FOR_ANY } from './tool-words.ts';

/** A user's tables, or every reason why they are invalid. */
export type UserTables =
  | { readonly ok: true; readonly tables: readonly ServerTable[] }
  | { readonly ok: false; readonly problems: readonly string[] };

const FIELDS = new Set([
  'id',
  'serverNames',
  'signature',
  'relativeTo',
  'folder',
  'followsRoots',
  'elsewhere',
  'onlyRelative',
  'equalNames',
  'expandsHome',
  'words',
  'tools',
]);

/**
 * Parses the `servers` of a policy file: an array of tables shaped like ServerTable, of which only `id` and `tools`
 * are required. Unknown fields are problems, because a misspelt rule would silently guard nothing.
 */
export function readUserTables(value: unknown): UserTables {
  if (!Array.isArray(value)) return { ok: false, problems: ['servers: must be an array of tables'] };
  const problems = value.flatMap((table: unknown, index) => tableProblems(table, `servers[${index}]`));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, tables: value.map(withDefaults) };
}

function withDefaults(value: unknown): ServerTable {
  // `tableProblems` has checked every field; this only fills in absent ones.
  const table = value as Partial<ServerTable> & Pick<ServerTable, 'id' | 'tools'>;
  return {
    serverNames: [table.id],
    signature: [],
    relativeTo: 'root',
    expandsHome: true,
    words: wordsFor(table.tools),
    ...table,
  };
}

/** The first tool for each purpose, if the user did not name one. */
function wordsFor(tools: ServerTable['tools']): ToolNames {
  const first = (...does: Rule['does'][]): string | undefined =>
    Object.keys(tools).find((name) => tools[name]?.some((rule) => does.includes(rule.does)));
  const rule = tools[first('read') ?? '']?.find((candidate) => candidate.does === 'read');
  const named = rule?.does === 'read' ? [rule.path].flat()[0] : undefined;
  const path = named === undefined || named === '.' ? 'path' : named;
  return {
    ...WORDS_FOR_ANY,
    ...defined('read', first('read')),
    ...defined('write', first('write')),
    ...defined('edit', first('edit', 'touch')),
    ...defined('list', first('list')),
    arguments: { path },
  };
}

function defined(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

function tableProblems(value: unknown, at: string): string[] {
  if (!isRecord(value)) return [`${at}: must be an object`];
  const problems = Object.keys(value)
    .filter((key) => !FIELDS.has(key))
    .map((key) => `${at}.${key}: unknown field`);
  if (typeof value['id'] !== 'string' || value['id'] === '') problems.push(`${at}.id: must be a name`);
  for (const name of ['serverNames', 'signature', 'elsewhere'])
    if (name in value && !isStrings(value[name])) problems.push(`${at}.${name}: must be an array of strings`);
  return [
    ...problems,
    ...pathProblems(value, at),
    ...wordProblems(value['words'], at),
    ...toolProblems(value['tools'], at),
  ];
}

/** The problems of the fields about paths. */
function pathProblems(value: JsonRecord, at: string): string[] {
  const problems: string[] = [];
  if ('relativeTo' in value && value['relativeTo'] !== 'root' && value['relativeTo'] !== 'cwd')
    problems.push(`${at}.relativeTo: must be "root" or "cwd"`);
  if ('folder' in value && !isFolder(value['folder']))
    problems.push(`${at}.folder: must be {"after": NAME} or {"option": NAME}`);
  for (const name of ['followsRoots', 'onlyRelative', 'equalNames'])
    if (name in value && value[name] !== true) problems.push(`${at}.${name}: must be true, or absent`);
  if ('expandsHome' in value && typeof value['expandsHome'] !== 'boolean')
    problems.push(`${at}.expandsHome: must be true or false`);
  return problems;
}

function wordProblems(words: unknown, at: string): string[] {
  if (words === undefined) return [];
  if (!isRecord(words)) return [`${at}.words: must be an object`];
  const { arguments: argumentNames, ...tools } = words;
  const known = new Set(['read', 'write', 'edit', 'insert', 'delete', 'list']);
  const problems = Object.entries(tools)
    .filter(([key, tool]) => !known.has(key) || typeof tool !== 'string')
    .map(
      ([key]) => `${at}.words.${key}: must be the name of a tool that does one of ${[...known].join(', ')}`,
    );
  for (const name of ['read', 'write', 'edit'])
    if (!(name in tools)) problems.push(`${at}.words.${name}: missing`);
  const named = isRecord(argumentNames) && typeof argumentNames['path'] === 'string';
  return named ? problems : [...problems, `${at}.words.arguments.path: missing`];
}

function toolProblems(tools: unknown, at: string): string[] {
  if (!isRecord(tools)) return [`${at}.tools: must be an object of tool names`];
  return Object.entries(tools).flatMap(([name, rules]) => rulesProblems(rules, `${at}.tools.${name}`));
}

function rulesProblems(rules: unknown, at: string): string[] {
  if (!Array.isArray(rules) || rules.length === 0) return [`${at}: must be an array of rules`];
  return rules.flatMap((rule: unknown, index) =>
    isRecord(rule)
      ? ruleProblems(rule as JsonRecord, `${at}[${index}]`)
      : [`${at}[${index}]: must be an object`],
  );
}

function isFolder(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const [only, ...more] = Object.entries(value);
  const named = only !== undefined && ['after', 'option'].includes(only[0]) && typeof only[1] === 'string';
  return named && more.length === 0;
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
