import type { FileIntent } from '../../model/intent.ts';
import { relativeTime } from '../../report/amounts.ts';
import { pathText, phrase } from '../../report/bounded.ts';
import { LOOKFIRST_TOOLS } from '../../report/tool-names.ts';
import { commandTool } from '../command-tool.ts';
import { ADDS, DESTROYS, type Dialect, given, type Problem, READS, type Tool, tool } from '../tool.ts';
import { applyText, changeText, editText, insertText, undoText, writeText } from './change-text.ts';
import { LOOKING_TOOLS } from './looking-tools.ts';

// `read_file` explains paths. Descriptions are short, because every word costs tokens in each
// conversation.
const PATH = { type: 'string' } as const;
const REVISION = {
  type: 'string',
  description: 'Revision this builds on; refused for other bytes.',
} as const;
const OLD = {
  type: 'string',
  description: 'Exact text of the file, without line numbers.',
} as const;
const NEW = { type: 'string', description: 'Literal text to put there; may be empty.' } as const;
const ALL = { type: 'boolean', description: 'Replace every occurrence.' } as const;
const FLAG = { type: 'boolean' } as const;

const ONCE = { ...DESTROYS, idempotentHint: false };

/** The tools that change files. */
export const CHANGING_TOOLS: readonly Tool[] = [
  tool({
    name: 'write_file',
    title: 'Write a file',
    description:
      'Create a file, or replace all of an existing one. An existing file must have been read in full and be unchanged since, ' +
      'or be proven with expected_revision. Missing folders are created. To change a part, use edit_file.',
    inputSchema: {
      type: 'object',
      properties: {
        path: PATH,
        content: { type: 'string', description: 'The whole new content.' },
        expected_revision: REVISION,
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    annotations: DESTROYS,
    call: ({ expected_revision: expectedRevision, ...write }) => ({
      kind: 'write',
      operation: { ...write, ...given({ expectedRevision }) },
      render: writeText,
    }),
  }),
  tool({
    name: 'edit_file',
    title: 'Edit a file',
    description:
      'Replace old_string by new_string in a file that was read. old_string must be in the file exactly once, or set replace_all. ' +
      'If the file changed elsewhere since, the edit is made all the same and the change is shown.',
    inputSchema: {
      type: 'object',
      properties: {
        path: PATH,
        old_string: OLD,
        new_string: NEW,
        replace_all: ALL,
        expected_revision: REVISION,
      },
      required: ['path', 'old_string', 'new_string'],
      additionalProperties: false,
    },
    annotations: ONCE,
    call: ({ path, old_string: oldString, new_string: newString, ...more }) => ({
      kind: 'edit',
      operation: {
        path,
        edits: [{ oldString, newString, ...given({ replaceAll: more.replace_all }) }],
        ...given({ expectedRevision: more.expected_revision }),
      },
      render: editText,
    }),
  }),
  tool({
    name: 'insert_lines',
    title: 'Insert lines',
    description:
      'Insert whole lines: after a line or at the top (after_line 0) of a file that was read, or at the end of any file (no after_line). ' +
      'Appending needs no read and creates a missing file.',
    inputSchema: {
      type: 'object',
      properties: {
        path: PATH,
        after_line: {
          type: 'integer',
          minimum: 0,
          description: 'Line to insert after; 0 = top, absent = append.',
        },
        content: { type: 'string', description: 'Lines to insert; a missing final newline is added.' },
        expected_revision: REVISION,
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    annotations: ADDS,
    call: ({ path, content, after_line: afterLine, expected_revision: expectedRevision }) => ({
      kind: 'insert',
      operation: { path, content, ...given({ afterLine, expectedRevision }) },
      render: insertText,
    }),
  }),
  tool({
    name: 'apply_changes',
    title: 'Change several files',
    description:
      'Make several changes, all or none: each names a path and one of content (whole file), edits, delete, or move_to; edits and move_to go together. ' +
      'The same rules hold as for the single tools. One undo_change takes all of them back.',
    inputSchema: {
      type: 'object',
      properties: {
        changes: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: {
              path: PATH,
              content: { type: 'string' },
              edits: {
                type: 'array',
                minItems: 1,
                items: {
                  type: 'object',
                  properties: {
                    old_string: { type: 'string' },
                    new_string: { type: 'string' },
                    replace_all: FLAG,
                  },
                  required: ['old_string', 'new_string'],
                  additionalProperties: false,
                },
              },
              delete: { type: 'boolean', description: 'True: delete the file.' },
              move_to: { type: 'string', description: 'New path of the file or folder.' },
            },
            required: ['path'],
            additionalProperties: false,
          },
        },
        dry_run: { type: 'boolean', description: 'Only show what would change.' },
      },
      required: ['changes'],
      additionalProperties: false,
    },
    annotations: ONCE,
    call: ({ changes: asked, dry_run: dryRun = false }) => {
      const changes = intentsOf(asked);
      if ('reason' in changes) return changes;
      return {
        kind: 'apply',
        operation: { changes, dryRun },
        render: (result, context) => applyText(changes, result, context),
      };
    },
  }),
  tool({
    name: 'delete_path',
    title: 'Delete a file or folder',
    description:
      'Delete a file that was read, or a folder that was listed in full; recursive if it is not empty. undo_change brings it back.',
    inputSchema: {
      type: 'object',
      properties: {
        path: PATH,
        recursive: { type: 'boolean', description: 'Delete a folder with everything in it.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: DESTROYS,
    call: (operation) => ({
      kind: 'delete',
      operation,
      render: (result, context) => changeText(`deleted ${pathText(operation.path)}`, result, context),
    }),
  }),
  tool({
    name: 'move_path',
    title: 'Move or rename',
    description:
      'Move or rename a file or folder. A file at the destination is replaced only if it was read in full and is unchanged since.',
    inputSchema: {
      type: 'object',
      properties: { source: PATH, destination: PATH },
      required: ['source', 'destination'],
      additionalProperties: false,
    },
    annotations: ONCE,
    call: (operation) => ({
      kind: 'move',
      operation,
      render: (result, context) => {
        const { source, destination } = operation;
        return changeText(`moved ${pathText(source)} to ${pathText(destination)}`, result, context);
      },
    }),
  }),
  tool({
    name: 'undo_change',
    title: 'Undo a change',
    description:
      "Take back a change by its id, this session's last change, or its last change of a path. Refused if the file changed since, unless merge is true. Another session's change needs its files read first.",
    inputSchema: {
      type: 'object',
      properties: {
        change: { type: 'string', description: 'Id of a change.' },
        path: PATH,
        merge: {
          type: 'boolean',
          description: 'Keep later changes of other lines.',
        },
      },
      additionalProperties: false,
    },
    annotations: ONCE,
    call: (operation) => ({ kind: 'undo', operation, render: undoText }),
  }),
];

/** One requested change of a batch; exactly one of the optional members must be present. */
interface AskedChange {
  readonly path: string;
  readonly content?: string;
  readonly edits?: readonly {
    readonly old_string: string;
    readonly new_string: string;
    readonly replace_all?: boolean;
  }[];
  readonly delete?: boolean;
  readonly move_to?: string;
}

/** The intents of a batch, or the problem of the first change that has no meaning, or two. */
export function intentsOf(changes: readonly AskedChange[]): FileIntent[] | Problem {
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
  if (remove === false) return 'has "delete": false, which asks for nothing';
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
      ...given({ replaceAll: edit.replace_all }),
    })),
    ...given({ moveTo: destination }),
  };
}

/**
 * The tools that claim and release paths explicitly. They are offered only if the policy says so.
 */
export const CLAIM_TOOLS: readonly Tool[] = [
  tool({
    name: 'claim_path',
    title: 'Claim a path',
    description:
      'Tell other agents that you will work on a file, a folder or a glob. Needed only for work that you have not begun: a change claims its file by itself.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'File, folder or glob, such as src/api/**.' },
        reason: { type: 'string', description: 'Shown to others.' },
        minutes: { type: 'integer', minimum: 1, maximum: 1440, description: 'Default 60.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { ...READS, idempotentHint: false },
    needs: 'claims',
    call: ({ path, reason, minutes }) => ({
      kind: 'claim',
      operation: {
        target: path,
        ...(reason === undefined ? {} : { reason }),
        ...(minutes === undefined ? {} : { forMs: minutes * 60_000 }),
      },
      render: ({ others }, { nowMs }) => {
        const at = others.map(
          (each) =>
            `session ${phrase(each.session)} works on ${pathText(each.path)} (${relativeTime(each.atMs, nowMs)})`,
        );
        return [`claimed ${pathText(path)}`, ...at].join('\n');
      },
    }),
  }),
  tool({
    name: 'release_path',
    title: 'Release a path',
    description: 'End your claim on a file, folder or glob, or all of your claims.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', description: 'What you claimed; default: everything.' } },
      additionalProperties: false,
    },
    annotations: READS,
    needs: 'claims',
    call: ({ path }) => ({
      kind: 'release',
      operation: path === undefined ? {} : { target: path },
      render: ({ released }) => `released ${released} ${released === 1 ? 'claim' : 'claims'}`,
    }),
  }),
];

/** The default dialect. */
export const LOOKFIRST: Dialect = {
  name: 'lookfirst',
  tools: [...LOOKING_TOOLS, ...CHANGING_TOOLS, commandTool('run_command', 'timeout_ms'), ...CLAIM_TOOLS],
  names: LOOKFIRST_TOOLS,
  unknownArguments: 'refuse',
  terms: {},
  instructions:
    'Files here change only after you have looked. 1. read_file (all pages) before write_file; any read before edit_file. ' +
    '2. Change with edit_file; write_file is for new or wholly rewritten files; apply_changes changes many files, all or none. ' +
    '3. A refusal says what changed and names the next call: make that call, do not repeat the same one. ' +
    'undo_change takes back a change; file_status tells what you have seen. Paths are relative to the workspace.',
};
