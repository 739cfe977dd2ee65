import type { Notice } from '../../model/results.ts';
import type { NextStep, RefusalCode } from '../../model/verdict.ts';

/** Each refusal code in a few words, for lists, and as a sentence. */
const REFUSALS: Readonly<Record<RefusalCode, readonly [brief: string, sentence: string]>> = {
  OUTSIDE_WORKSPACE: ['outside', 'The path leads out of the workspace.'],
  PROTECTED: ['protected', 'The policy protects this path.'],
  READ_ONLY: ['read-only', 'The file, its folder or the session is read-only.'],
  NOT_FOUND: ['not found', 'There was nothing at that path.'],
  NOT_A_FILE: ['not a file', 'There is something other than a file at that path.'],
  NOT_READ: [
    'not read',
    'The session had not read the file, so it would have destroyed text that it never saw.',
  ],
  PARTIALLY_READ: [
    'partly read',
    'The session had read only a part of the file, and the change concerned the rest too.',
  ],
  READ_EXPIRED: ['read too long ago', 'The session had read the file too long ago.'],
  STALE: [
    'outdated',
    'The file had changed since the session read it. The change would have destroyed the newer text.',
  ],
  DELETED: ['deleted meanwhile', 'The file had been deleted since the session read it.'],
  ALREADY_EXISTS: ['already there', 'Something was at that path already.'],
  REVISION_MISMATCH: ['other revision', "The revision in the call was not the file's current one."],
  NO_MATCH: ['text not found', 'The text to replace was not in the file.'],
  AMBIGUOUS_MATCH: ['text not unique', 'The text to replace was in the file more than once.'],
  NOT_TEXT: ['not text', 'The file is not text.'],
  TOO_LARGE: ['too large', 'The file is larger than the policy allows.'],
  PLACEHOLDER_CONTENT: [
    'placeholder text',
    'The new text held a placeholder ("rest unchanged") or line numbers instead of the real lines.',
  ],
  REDACTED_READ: ['secrets masked', 'The session had seen the file only with secrets masked.'],
  UNVERIFIABLE: ['not checkable', 'Lookfirst could not check what was there.'],
  BUSY: ['in use', 'Another process held the file.'],
  INVALID_ARGUMENT: ['invalid call', 'The call was not valid.'],
  NO_SANDBOX: ['no sandbox', 'There was no sandbox to run the command in.'],
  COMMAND_CONFLICT: [
    'changed meanwhile',
    'A file that the command changed was changed by another program at the same time.',
  ],
  WOULD_DESTROY: ['would destroy work', 'The command would have destroyed work that exists nowhere else.'],
};

/** A refusal code in a few words. */
export function refusedWord(code: string): string {
  return Object.hasOwn(REFUSALS, code) ? REFUSALS[code as RefusalCode][0] : code;
}

/** The reason for a refusal as a sentence, for users of the viewer. */
export function refusedBecause(code: RefusalCode): string {
  return REFUSALS[code][1];
}

/** The words for each next step that a refusal can name. */
export const NEXT: Readonly<Record<NextStep, string>> = {
  read: 'read the file, then repeat the change',
  read_range: 'read the missing lines, then repeat the change',
  read_again: 'read the file again, or use the diff in the refusal',
  list: 'list the folder',
  other_path: 'choose another path',
  other_tool: 'use another tool',
  add_context: 'quote the text exactly, with more of the lines around it',
  use_edit: 'edit the lines instead of replacing the whole file',
  fix_argument: 'correct the call',
  retry_later: 'try again in a moment',
  ask_human: 'ask the user',
  repeat: 'ask the user, or make the same call again',
  none: 'nothing: there is no way to do this',
};

const NOTICES: Partial<Readonly<Record<Notice['kind'], string>>> = {
  'changed-elsewhere':
    'The file had changed elsewhere since the session read it. The session was shown the difference.',
  'unseen-lines': 'The change concerned lines that the session had not read.',
  'unseen-append': 'The session added to a file that it had not read.',
  'match-tier': 'The text to replace was found only by a looser match.',
  'quotes-straightened': 'Typographic quotes were straightened.',
  'settings-changed': "A command set what only the user may set in a client's settings.",
  'quotes-kept': 'The new text has typographic quotes in code.',
  'stale-warning': 'The file had changed since the session read it. The policy only warns.',
  'met-save': 'Another program saved the file in the same moment. Its bytes are kept.',
  'late-write':
    'Another program wrote into the old file after the change had replaced it. What it wrote is kept.',
  bypassed: 'The user had allowed changes of this path without a read.',
  recreated: 'The file had been deleted and was made again.',
  'came-back': 'The file again had an earlier content that the session had read.',
  'lost-change': "A command dropped another writer's change.",
  'older-files': 'A command moved files from paths that are not recorded.',
  'not-kept': 'Some earlier bytes could not be kept. An undo cannot bring them back.',
};

/** Says that a refusal was only recorded. */
export const OBSERVED = 'The call passed, because the policy only observes (mode: observe).';

export function noticeWords(kind: Notice['kind']): string {
  return NOTICES[kind] ?? `Notice: ${kind}.`;
}

/** Formats lines as `lines 1-20, 40-60` or `all lines`. */
export function seenWords(lines: string): string {
  if (lines === 'whole') return 'all lines';
  if (lines === 'none') return 'lines that it has since forgotten (its context was summarised)';
  const ranges = lines.replaceAll(',', ', ').replace(/\b(\d+)-\1\b/g, '$1');
  return `${/^\d+$/.test(ranges) ? 'line' : 'lines'} ${ranges}`;
}
