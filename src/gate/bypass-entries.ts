import type { NewEntry } from '../model/entry.ts';
import type { Step } from './step.ts';

/** Journal entries for the operator's bypass: one for each step that used it, with the session and time of `like`. */
export function bypassEntries(
  steps: readonly Pick<Step, 'action' | 'path' | 'notices'>[],
  like: Pick<NewEntry, 'session' | 'turn' | 'atMs' | 'change'>,
): readonly NewEntry[] {
  return steps.flatMap(({ action, path, notices = [] }) => {
    const used = notices.find((notice) => notice.kind === 'bypassed');
    if (used === undefined) return [];
    const { root, relative, key } = path;
    const text = `allowed by the operator's bypass for ${used.glob}`;
    const grant = used.grant === undefined ? {} : { grant: { id: used.grant } };
    return [{ ...like, kind: 'bypass', action, root, path: relative, key, text, ...grant }];
  });
}
