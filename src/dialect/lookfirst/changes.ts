import type { FileIntent } from '../../model/intent.ts';
import { given, type Problem } from '../tool.ts';

/** One change of a batch as it is asked for; exactly one of the optional members must be there. */
export interface AskedChange {
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

/** What each change means, or what is wrong with the first that means nothing, or two things at once. */
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
  const asked = [content, edits, remove, destination].filter((member) => member !== undefined).length;
  if (asked !== 1) return `needs exactly one of content, edits, delete and move_to, not ${asked}`;
  if (content !== undefined) return { kind: 'write', path, content };
  if (destination !== undefined) return { kind: 'move', source: path, destination };
  if (edits === undefined) return { kind: 'delete', path };
  return {
    kind: 'edit',
    path,
    edits: edits.map((edit) => ({
      oldString: edit.old_string,
      newString: edit.new_string,
      ...given({ replaceAll: edit.replace_all }),
    })),
  };
}
