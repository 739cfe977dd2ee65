import type { Edit } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import { objectOf } from '../../model/shape.ts';
import { pathText } from '../../report/bounded.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import type { RenderContext } from '../render.ts';
import { DESTROYS, type Dialect, type Tool, tool } from '../tool.ts';
import { LACE_TOOLS } from './tools.ts';

/** Several replacements in one file, all or none, each with an exact number of occurrences. */
const FILE_EDIT: Tool = tool({
  name: 'file_edit',
  title: 'Edit a file',
  description:
    'Replace exact texts in a file that was read, all or none. Each old_text must be there exactly once, or exactly occurrences times.',
  inputSchema: objectOf(
    {
      path: { type: 'string', description: 'Path of the file.' },
      edits: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            old_text: { type: 'string', description: 'Text to replace; empty only for an empty file.' },
            new_text: { type: 'string', description: 'Text to put there; empty deletes.' },
            occurrences: {
              type: 'integer',
              minimum: 1,
              description: 'How often old_text is there (default 1).',
            },
          },
          required: ['old_text', 'new_text'],
          additionalProperties: false,
        },
      },
      dry_run: { type: 'boolean', description: 'Only show what would change.' },
    },
    ['path', 'edits'],
  ),
  annotations: { ...DESTROYS, idempotentHint: false },
  call: ({ path, edits: asked, dry_run: dryRun = false }) => {
    const edits = asked.map(({ old_text, new_text, occurrences = 1 }): Edit => {
      const edit = { oldString: old_text, newString: new_text };
      return occurrences === 1 ? edit : { ...edit, replaceAll: true, occurrences };
    });
    const count = `${edits.length} edit${edits.length === 1 ? '' : 's'}`;
    if (dryRun)
      return {
        kind: 'apply',
        operation: { changes: [{ kind: 'edit', path, edits }], dryRun },
        render: ({ results }, context) =>
          told(`Dry run completed. Would apply ${count} to ${pathText(path)}`, {
            diff: results[0]?.diff,
            notices: results[0]?.notices ?? [],
            context,
            path,
          }),
      };
    return {
      kind: 'edit',
      operation: { path, edits },
      render: ({ notices }, context) => told(`Successfully applied ${count}`, { notices, context, path }),
    };
  },
});

interface More {
  readonly diff?: string | undefined;
  readonly notices: readonly Notice[];
  readonly context: RenderContext;
  readonly path: string;
}

function told(done: string, { diff, notices, context, path }: More): string {
  return [
    done,
    ...(diff === undefined || diff === '' ? [] : [diff]),
    ...noticeTexts(notices, path, context),
  ].join('\n');
}

/** The file tools of the system behind the preset `thread-history`. */
export const LACE: Dialect = {
  name: 'lace',
  tools: [...LACE_TOOLS, FILE_EDIT],
  names: {
    read: 'file_read',
    write: 'file_write',
    edit: 'file_edit',
    insert: 'file_insert',
    list: 'file_list',
    find: 'file_find',
    search: 'ripgrep_search',
    arguments: { path: 'path', from: 'startLine', to: 'endLine' },
  },
  unknownArguments: 'refuse',
  terms: {
    old_string: 'old_text',
    new_string: 'new_text',
    after_line: 'line',
    offset: 'startLine',
    limit: 'endLine',
  },
  instructions:
    'Files here change only after you have looked. file_read a file before file_write, file_insert or file_edit; a new file needs no read. ' +
    'Change parts with file_edit. A refusal says why and what to call next: do that instead of repeating the call.',
};
