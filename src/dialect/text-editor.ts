import { objectOf } from '../model/shape.ts';
import { type Call, DESTROYS, type Dialect, integer, type Problem, problem, string, tool } from './tool.ts';

const NAME = 'str_replace_based_edit_tool';

/** Depth of a folder view: its entries and those of its sub-folders. */
const VIEW_DEPTH = 2;

const MAX_ENTRIES = 2000;

/** The argument with which a call of one of Anthropic's tools selects lines. */
export const VIEW_RANGE = {
  type: 'array',
  items: { type: 'integer' },
  minItems: 2,
  description: 'First and last line, counted from 1; -1 as the last: to the end.',
} as const;

const EDITOR = tool({
  name: NAME,
  title: 'View and edit files',
  description:
    'View a file with line numbers, or a folder two levels deep (view); create or overwrite a file (create); replace text that is in the file once (str_replace); ' +
    'insert lines after a line (insert). A file must have been viewed before it is changed, all of it before create overwrites it.',
  inputSchema: objectOf(
    {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
      path: string('Relative to the workspace root, or absolute inside it.'),
      view_range: VIEW_RANGE,
      file_text: string('For create: the whole content.'),
      old_str: string('For str_replace: the text to replace.'),
      new_str: string('For str_replace: the text to put there; absent deletes.'),
      insert_line: integer('For insert: the line to insert after; 0 = top.', { minimum: 0 }),
      insert_text: string('For insert: the lines to insert.'),
    },
    ['command', 'path'],
  ),
  annotations: { ...DESTROYS, idempotentHint: false },
  call: ({ command, path, ...args }) => {
    switch (command) {
      case 'view':
        return view(path, args.view_range);
      case 'create': {
        if (args.file_text === undefined) return problem('create needs file_text');
        const operation = { path, content: args.file_text };
        return { kind: 'write', operation };
      }
      case 'str_replace': {
        if (args.old_str === undefined || args.old_str === '') return problem('str_replace needs old_str');
        const edits = [{ oldString: args.old_str, newString: args.new_str ?? '' }];
        return { kind: 'edit', operation: { path, edits } };
      }
      case 'insert': {
        if (args.insert_line === undefined || args.insert_text === undefined)
          return problem('insert needs insert_line and insert_text');
        const operation = { path, content: args.insert_text, afterLine: args.insert_line };
        return { kind: 'insert', operation };
      }
      default:
        return command satisfies never;
    }
  },
});

function view(path: string, range: readonly number[] | undefined): Call | Problem {
  const lines = linesIn(range);
  if ('kind' in lines) return lines;
  const folder = { depth: VIEW_DEPTH, limit: MAX_ENTRIES };
  return { kind: 'view', operation: { path, ...lines, folder } };
}

/** Anthropic's text editor tool, which its models are trained on. */
export const TEXT_EDITOR: Dialect = {
  name: 'text-editor',
  tools: [EDITOR],
  names: {
    read: 'view',
    write: 'create',
    edit: 'str_replace',
    insert: 'insert',
    list: 'view',
    command: { tool: NAME, argument: 'command' },
    arguments: { path: 'path', range: 'view_range', oldText: 'old_str' },
  },
  unknownArguments: 'refuse',
  terms: {
    old_string: 'old_str',
    new_string: 'new_str',
    after_line: 'insert_line',
    offset: 'view_range',
    limit: 'view_range',
  },
  instructions:
    'Files here change only after you have looked. View a file before str_replace or insert, and all of it before create overwrites it; a new file needs no view. ' +
    'A refusal says what changed and names the next call: make that call, do not repeat the same one. Paths are relative to the workspace.',
};

/** The lines that a view range requests. */
export function linesIn(
  range: readonly number[] | undefined,
): { readonly offset?: number; readonly limit?: number } | Problem {
  if (range === undefined) return {};
  const [from = 1, to = -1, more] = range;
  if (more !== undefined || from < 1 || (to !== -1 && to < from))
    return problem('view_range must be [first, last], counted from 1, or [first, -1]');
  return { offset: from, limit: to === -1 ? Number.MAX_SAFE_INTEGER : to - from + 1 };
}
