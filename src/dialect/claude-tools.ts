import { defined } from '../model/record.ts';
import { objectOf } from '../model/shape.ts';
import { DESTROYS, flag, string, type Tool, tool } from './tool.ts';

/** The words of one dialect for a tool whose arguments and answers are those of Claude Code. */
interface ToolWords {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The description of the argument `file_path`. */
  readonly path: string;
}

/** The tool that writes a file. */
export function writeTool({ path: where, content: whole, ...words }: ToolWords & { content: string }): Tool {
  return tool({
    ...words,
    inputSchema: objectOf(
      {
        file_path: string(where),
        content: string(whole),
      },
      ['file_path', 'content'],
    ),
    annotations: DESTROYS,
    call: ({ file_path: path, content }) => ({ kind: 'write', operation: { path, content } }),
  });
}

/** The tool that replaces a text in a file. */
export function editTool({
  path: where,
  old,
  all,
  ...words
}: ToolWords & { old: string; all: string }): Tool {
  return tool({
    ...words,
    inputSchema: objectOf(
      {
        file_path: string(where),
        old_string: string(old),
        new_string: string('Text to put there; empty deletes.'),
        replace_all: flag(all),
      },
      ['file_path', 'old_string', 'new_string'],
    ),
    annotations: { ...DESTROYS, idempotentHint: false },
    call: ({ file_path: path, old_string: oldString, new_string: newString, replace_all: replaceAll }) => {
      const edits = [{ oldString, newString, ...defined({ replaceAll }) }];
      return { kind: 'edit', operation: { path, edits } };
    },
  });
}
