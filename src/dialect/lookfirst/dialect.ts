import type { FileIntent } from '../../model/intent.ts';
import type { ValueOf } from '../../model/json-schema.ts';
import { defined } from '../../model/record.ts';
import { objectOf } from '../../model/shape.ts';
import { LOOKFIRST_TOOLS } from '../../report/tool-names.ts';
import { commandTool } from '../command-tool.ts';
import {
  ADDS,
  DESTROYS,
  type Dialect,
  flag,
  integer,
  type Problem,
  string,
  type Tool,
  tool,
} from '../tool.ts';
import { LOOKING_TOOLS } from './looking-tools.ts';

// This argument has no description: `read_file` explains paths, and every word costs tokens in each
// conversation.
const PATH = { type: 'string' } as const;
const REVISION = string('Refuse the change if the file has another revision.');
const OLD = string('Exact text of the file, without line numbers.');
const NEW = string('Literal text to put there; may be empty.');
const ALL = flag('Replace every occurrence.');
const FLAG = { type: 'boolean' } as const;

/** One requested change of a batch. It has exactly one of the optional members, or `edits` together with `move_to`. */
const CHANGE = objectOf(
  {
    path: PATH,
    content: { type: 'string' },
    edits: {
      type: 'array',
      minItems: 1,
      items: objectOf(
        {
          old_string: { type: 'string' },
          new_string: { type: 'string' },
          replace_all: FLAG,
        },
        ['old_string', 'new_string'],
      ),
    },
    delete: flag('True: delete the file.'),
    move_to: string('New path of the file or folder.'),
  },
  ['path'],
);

const ONCE = { ...DESTROYS, idempotentHint: false };

/** The tools that change files. */
const CHANGING_TOOLS: readonly Tool[] = [
  tool({
    name: 'write_file',
    title: 'Write a file',
    description:
      'Create a file, or replace all of an existing one. An existing file must have been read in full and be unchanged since, ' +
      'or expected_revision must match it. Missing folders are created. To change a part, use edit_file.',
    inputSchema: objectOf(
      {
        path: PATH,
        content: string('The whole new content.'),
        expected_revision: REVISION,
      },
      ['path', 'content'],
    ),
    annotations: DESTROYS,
    call: ({ expected_revision: expectedRevision, ...write }) => ({
      kind: 'write',
      operation: { ...write, ...defined({ expectedRevision }) },
    }),
  }),
  tool({
    name: 'edit_file',
    title: 'Edit a file',
    description:
      'Replace old_string by new_string in a file that was read. old_string must be in the file exactly once, or set replace_all. ' +
      'If the file changed elsewhere since, the edit is still made, and the answer shows that other change.',
    inputSchema: objectOf(
      {
        path: PATH,
        old_string: OLD,
        new_string: NEW,
        replace_all: ALL,
        expected_revision: REVISION,
      },
      ['path', 'old_string', 'new_string'],
    ),
    annotations: ONCE,
    call: ({ path, old_string: oldString, new_string: newString, ...more }) => ({
      kind: 'edit',
      operation: {
        path,
        edits: [{ oldString, newString, ...defined({ replaceAll: more.replace_all }) }],
        ...defined({ expectedRevision: more.expected_revision }),
      },
    }),
  }),
  tool({
    name: 'insert_lines',
    title: 'Insert lines',
    description:
      'Insert whole lines: after a line or at the top (after_line 0) of a file that was read, or at the end of any file (no after_line). ' +
      'Appending needs no read and creates a missing file.',
    inputSchema: objectOf(
      {
        path: PATH,
        after_line: integer('Line to insert after; 0 = top, absent = append.', { minimum: 0 }),
        content: string('Lines to insert; a missing final newline is added.'),
        expected_revision: REVISION,
      },
      ['path', 'content'],
    ),
    annotations: ADDS,
    call: ({ path, content, after_line: afterLine, expected_revision: expectedRevision }) => ({
      kind: 'insert',
      operation: { path, content, ...defined({ afterLine, expectedRevision }) },
    }),
  }),
  tool({
    name: 'apply_changes',
    title: 'Change several files',
    description:
      'Make several changes, all or none: each names a path and one of content (whole file), edits, delete, or move_to; edits and move_to go together. ' +
      'The same rules hold as for the single tools. One undo_change takes all of them back.',
    inputSchema: objectOf(
      {
        changes: {
          type: 'array',
          minItems: 1,
          items: CHANGE,
        },
        dry_run: flag('Only show what would change.'),
      },
      ['changes'],
    ),
    annotations: ONCE,
    call: ({ changes: asked, dry_run: dryRun = false }) => {
      const changes = intentsOf(asked);
      if ('reason' in changes) return changes;
      return { kind: 'apply', operation: { changes, dryRun } };
    },
  }),
  tool({
    name: 'delete_path',
    title: 'Delete a file or folder',
    description:
      'Delete a file that was read, or a folder that was listed in full; recursive if it is not empty. undo_change brings it back.',
    inputSchema: objectOf(
      {
        path: PATH,
        recursive: flag('Delete a folder with everything in it.'),
      },
      ['path'],
    ),
    annotations: DESTROYS,
    call: (operation) => ({ kind: 'delete', operation }),
  }),
  tool({
    name: 'move_path',
    title: 'Move or rename',
    description:
      'Move or rename a file or folder. A file at the destination is replaced only if it was read in full and is unchanged since.',
    inputSchema: objectOf({ source: PATH, destination: PATH }, ['source', 'destination']),
    annotations: ONCE,
    call: (operation) => ({ kind: 'move', operation }),
  }),
  tool({
    name: 'undo_change',
    title: 'Undo a change',
    description:
      "Take back a change by its id, this session's last change, or its last change of a path. Refused if the file changed since, unless merge is true. Another session's change needs its files read first.",
    inputSchema: objectOf({
      change: string('Id of a change.'),
      path: PATH,
      merge: flag('Keep later changes of other lines.'),
    }),
    annotations: ONCE,
    call: (operation) => ({ kind: 'undo', operation }),
  }),
];

type AskedChange = ValueOf<typeof CHANGE>;

/**
 * Converts the changes of a batch to intents. Returns a problem if one of them requests nothing or
 * several things at once.
 */
function intentsOf(changes: readonly AskedChange[]): FileIntent[] | Problem {
  const intents: FileIntent[] = [];
  for (const [index, change] of changes.entries()) {
    const intent = intentOf(change);
    if (typeof intent === 'string') return { kind: 'problem', reason: `changes[${index}] ${intent}` };
    intents.push(intent);
  }
  return intents;
}

function intentOf(change: AskedChange): FileIntent | string {
  const { path, content, edits, delete: remove, move_to: destination } = change;
  if (remove === false) return 'has "delete": false, which requests no change';
  const whole = [content, edits, remove].filter((member) => member !== undefined).length;
  const asked = whole + (destination === undefined || (edits !== undefined && whole === 1) ? 0 : 1);
  if (asked !== 1) return `needs exactly one of content, edits, delete and move_to, not ${asked}`;
  if (content !== undefined) return { kind: 'write', path, content };
  if (destination !== undefined && edits === undefined) return { kind: 'move', source: path, destination };
  if (edits === undefined) return { kind: 'delete', path };
  return {
    kind: 'edit',
    path,
    edits: edits.map((edit) => ({
      oldString: edit.old_string,
      newString: edit.new_string,
      ...defined({ replaceAll: edit.replace_all }),
    })),
    ...defined({ moveTo: destination }),
  };
}

/** The set of tools that Lookfirst offers by default. */
export const LOOKFIRST: Dialect = {
  name: 'lookfirst',
  tools: [...LOOKING_TOOLS, ...CHANGING_TOOLS, commandTool('run_command', 'timeout_ms')],
  names: LOOKFIRST_TOOLS,
  unknownArguments: 'refuse',
  terms: {},
  instructions:
    'Files here change only after you have looked. 1. read_file (all pages) before write_file; any read before edit_file. ' +
    '2. Change with edit_file; write_file is for new or wholly rewritten files; apply_changes changes many files, all or none. ' +
    '3. A refusal says what changed and names the next call: make that call, do not repeat the same one. ' +
    'undo_change takes back a change; file_status tells what you have seen. Paths are relative to the workspace.',
};
