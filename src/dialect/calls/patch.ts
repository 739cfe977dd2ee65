import type { Edit, HostIntent } from '../../model/intent.ts';
import { hunksOf, movedTo, type PatchSection, patchSections } from '../../text/patch/parse.ts';
import { editOf, type HunkLine, hunkLine, signedText } from '../../text/patch/patched.ts';

/**
 * The changes that a patch in the V4A format makes. The patching program matches whole lines, so the
 * old text of each edit consists of whole lines. Lines that belong to no file or hunk are ignored.
 */
export function patchIntents(patch: string): HostIntent[] {
  return patchSections(patch.split(/\r?\n/)).sections.flatMap(sectionIntents);
}

function sectionIntents({ kind, path, lines }: PatchSection): HostIntent[] {
  if (kind === 'Delete') return [{ kind: 'delete', path }];
  if (kind === 'Add')
    return [
      {
        kind: 'write',
        path,
        content: signedText(
          lines.flatMap((line) => hunkLine(line) ?? []),
          '+',
        ),
      },
    ];
  const destination = movedTo(lines);
  const moved: HostIntent[] = destination === undefined ? [] : [{ kind: 'move', source: path, destination }];
  const body = destination === undefined ? lines : lines.slice(1);
  return [...updates(path, body), ...moved];
}

function updates(path: string, lines: readonly string[]): HostIntent[] {
  const edits: Edit[] = [];
  let appended = '';
  // Empty lines above the first hunk belong to the layout of the patch.
  const { hunks } = hunksOf(lines.slice(lines.findIndex((line) => line !== '')));
  for (const { header, lines } of hunks) {
    const hunk = withoutEmptyEnd(lines);
    // The patching program finds the place of a hunk that only adds lines by its header.
    const isPlaced = header !== '' && hunk.every(({ sign }) => sign === '+');
    const { oldString, newString } = editOf(isPlaced ? [{ sign: ' ', text: header }, ...hunk] : hunk, {});
    if (oldString === '') appended += newString;
    else if (oldString !== newString) edits.push({ oldString, newString });
  }
  return [
    ...(edits.length === 0 ? [] : [{ kind: 'edit' as const, path, edits }]),
    ...(appended === '' ? [] : [{ kind: 'insert' as const, path, content: appended }]),
  ];
}

/**
 * Drops empty lines at the end of a hunk: they belong to the layout of the patch, not to the file.
 */
function withoutEmptyEnd(lines: readonly HunkLine[]): readonly HunkLine[] {
  return lines.slice(0, lines.findLastIndex(({ sign, text }) => sign !== ' ' || text !== '') + 1);
}
