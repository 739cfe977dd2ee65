import type { Edit } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import type { RenderContext } from '../render.ts';
import { ADDS, DESTROYS, type Tool, tool } from '../tool.ts';
import { diffText, forewordFor, moveForeword, TEXT_OUTPUT } from './shapes.ts';

const ONCE = { ...DESTROYS, idempotentHint: false };

/** The tools that change files. Only create_directory creates folders. */
export const FILESYSTEM_CHANGES: readonly Tool[] = [
  tool({
    name: 'write_file',
    title: 'Write File',
    description:
      'Create a file, or replace all of an existing one, which must have been read in full and be unchanged since. The folder must exist.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, content: { type: 'string' } },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    outputSchema: TEXT_OUTPUT,
    annotations: DESTROYS,
    call: ({ path, content }) => ({
      kind: 'write',
      operation: { path, content, makeParents: false },
      render: ({ notices }, context) => told(`Successfully wrote to ${path}`, { notices, path, context }),
      foreword: forewordFor('open'),
    }),
  }),
  tool({
    name: 'edit_file',
    title: 'Edit File',
    description:
      'Replace texts in a file that was read; each oldText must be in it exactly once. Returns a diff; with dryRun it only shows it.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        edits: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              oldText: { type: 'string', description: 'Text to search for - must match exactly' },
              newText: { type: 'string', description: 'Text to replace with' },
            },
            required: ['oldText', 'newText'],
            additionalProperties: false,
          },
        },
        dryRun: {
          type: 'boolean',
          default: false,
          description: 'Preview changes using git-style diff format',
        },
      },
      required: ['path', 'edits'],
      additionalProperties: false,
    },
    outputSchema: TEXT_OUTPUT,
    annotations: ONCE,
    call: ({ path, edits: asked, dryRun = false }) => {
      const edits = asked.map(
        ({ oldText, newText }): Edit => ({ oldString: oldText, newString: newText, mayBeSame: true }),
      );
      const foreword = forewordFor('open', ({ code, detail }) =>
        code === 'NO_MATCH'
          ? `Could not find exact match for edit:\n${edits[detail?.index ?? 0]?.oldString ?? ''}`
          : undefined,
      );
      if (dryRun)
        return {
          kind: 'apply',
          operation: { changes: [{ kind: 'edit', path, edits, withDiff: true }], dryRun, unread: 'show' },
          render: ({ results: [first] }, context) =>
            told(diffText(path, first?.diff ?? '', context), {
              notices: first?.notices ?? [],
              path,
              context,
            }),
          foreword,
        };
      return {
        kind: 'edit',
        operation: { path, edits, withDiff: true },
        render: ({ diff = '', notices }, context) =>
          told(diffText(path, diff, context), { notices, path, context }),
        foreword,
      };
    },
  }),
  tool({
    name: 'create_directory',
    title: 'Create Directory',
    description: 'Create a folder, and those above it that are missing. One that exists is left as it is.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    },
    outputSchema: TEXT_OUTPUT,
    annotations: { ...ADDS, idempotentHint: true },
    call: ({ path }) => ({
      kind: 'mkdir',
      operation: { path },
      render: () => `Successfully created directory ${path}`,
      foreword: forewordFor('mkdir'),
    }),
  }),
  tool({
    name: 'move_file',
    title: 'Move File',
    description: 'Move or rename a file or folder. Fails if something is at the destination.',
    inputSchema: {
      type: 'object',
      properties: { source: { type: 'string' }, destination: { type: 'string' } },
      required: ['source', 'destination'],
      additionalProperties: false,
    },
    outputSchema: TEXT_OUTPUT,
    annotations: ONCE,
    call: ({ source, destination }) => ({
      kind: 'move',
      operation: { source, destination, makeParents: false, overwrite: false },
      render: ({ notices }, context) =>
        told(`Successfully moved ${source} to ${destination}`, { notices, path: destination, context }),
      foreword: moveForeword(source, destination),
    }),
  }),
];

function told(
  done: string,
  { notices, path, context }: { notices: readonly Notice[]; path: string; context: RenderContext },
): string {
  const more = noticeTexts(notices, path, context);
  return more.length === 0 ? done : `${done}${done.endsWith('\n') ? '' : '\n'}${more.join('\n')}`;
}
