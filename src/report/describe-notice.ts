import type { ToldClaim } from '../model/claim.ts';
import type { PresetName } from '../model/policy.ts';
import type { MatchTier, Notice } from '../model/results.ts';
import { countOf, lineWords } from './amounts.ts';
import { clip, pathText, phrase, quotation } from './bounded.ts';
import { timeAgo } from './times.ts';

interface NoticeOptions {
  /** The path as the caller wrote it, for messages that contain it. */
  readonly path?: string;
  readonly wording?: PresetName;
}

const MAX_PATHS = 20;

/** The texts of the notices about a path; notices without text are omitted. */
export function noticeTexts(
  notices: readonly Notice[],
  path: string,
  { wording }: { readonly wording: PresetName },
): readonly string[] {
  return notices.map((notice) => describeNotice(notice, { path, wording })).filter((text) => text !== '');
}

/**
 * Describes one notice for the agent in a few sentences, with a diff if the notice has one. The
 * length is limited. Empty for a notice that needs no words, such as one about an exact match.
 */
export function describeNotice(notice: Notice, options: NoticeOptions = {}): string {
  // The cast is safe: the table has a function for each kind of notice.
  const text = TEXTS[notice.kind] as (notice: Notice, options: NoticeOptions) => string;
  return text(notice, options);
}

type NoticeOf<K extends Notice['kind']> = Extract<Notice, { readonly kind: K }>;

const TEXTS: { readonly [K in Notice['kind']]: (notice: NoticeOf<K>, options: NoticeOptions) => string } = {
  'changed-elsewhere': changedElsewhere,
  'unseen-lines': ({ ranges }) => `This changed ${lineWords(ranges)}, which had not been read.`,
  'unseen-append': () => 'This session has not read what the file holds now; the text was added at its end.',
  'match-tier': ({ tier }) => TIERS[tier],
  'quotes-straightened': ({ count }) =>
    `Replaced ${countOf(count, 'typographic quote')} in code with straight ones.`,
  'settings-changed': ({ change, path, what }) =>
    `The command changed ${pathText(path)}, which only the user may do: ${phrase(what)}. Tell the user, or take it back with lookfirst undo ${phrase(change)}.`,
  'quotes-kept': ({ path, ranges }) =>
    `Typographic quotes in code: ${pathText(path)}, ${lineWords(ranges)}. Replace them with straight ones, unless you meant them.`,
  'hard-links-broken': ({ count }) =>
    `The file has ${countOf(count, 'other name')} (hard links), which keep the old bytes.`,
  'mode-bits-dropped': ({ bits }) => `The file lost its ${phrase(bits)} permission.`,
  'owner-changed': () => 'The file now belongs to the user that runs Lookfirst.',
  'xattrs-lost': () => 'The file lost its extended attributes.',
  'stale-warning': staleWarning,
  'form-changed': ({ path, what }) =>
    `The program that wrote ${pathText(path)} changed its form: ${phrase(what)}.`,
  'late-write': ({ path, retained }) =>
    `Another program still had the replaced ${pathText(path)} open and wrote to it afterwards; what it wrote is kept at ${pathText(retained)}.`,
  'met-save': ({ kept, path }) =>
    `Another program saved ${pathText(path)} during this change. Copies of what it wrote are kept: ${someOf(kept)}. Check that its save is still there.`,
  'changed-seen-files': changedSeenFiles,
  bypassed: ({ glob }) =>
    `The user's rule for ${phrase(glob)} allowed this without a read; the journal records it.`,
  'not-recorded': () => 'The journal could not be written, so this change cannot be undone.',
  'not-noted': () =>
    'What was shown could not be recorded, so it does not count as read. Read it again before changing it.',
  overtaken: ({ change, path, session }) =>
    `While this change was under way, session ${clip(phrase(session), 100)} changed ${pathText(path)} (change ${phrase(change)}): check that its change is still there.`,
  'came-back': () =>
    'The file had changed back to content that this session has seen, so the change was made to that.',
  'lost-change': ({ change, diff, path }) =>
    `The command dropped a change to ${pathText(path)} that another writer made after it was read. The user can undo the command with lookfirst undo ${phrase(change)}. What was dropped:\n${quotation(diff)}`,
  'older-files': ({ cut, paths }) =>
    `These files are older than the command. Their earlier paths are not recorded, so undoing the command leaves them where they are: ${someOf(paths, cut)}.`,
  'not-kept': ({ cut, paths }) =>
    `The earlier bytes of these files could not be kept, so undo cannot bring them back: ${someOf(paths, cut)}.`,
  destroyed: ({ change, cut, names }) =>
    `This removed what nothing else holds: ${someOf(names, cut)}. It is kept: lookfirst undo ${phrase(change)} restores it.`,
  'in-stash': ({ cut, paths }) =>
    `A stash still has what this removed: ${someOf(paths, cut)}. git stash list names it.`,
  'work-destroyed': ({ by, change, command, paths }) =>
    `${sessionWords({ session: by })}'s command "${phrase(command)}" removed your uncommitted change to ${someOf(paths)}. lookfirst undo ${phrase(change)} restores it.`,
  claimed: ({ claims, path }) =>
    `${claims.map((claim) => claimWords(claim, path)).join(' ')} Read the file again right before you change it.`,
  'others-at-work': othersAtWork,
  'other-worktree': ({ meant, own, path }) =>
    `This writes ${pathText(path)}, but you work in the worktree ${pathText(own)}. You probably meant ${pathText(meant)}.`,
  recreated: () => 'The file had been deleted since it was read; it was created again.',
};

/** One sentence about another session's claim on a file. */
function claimWords(claim: ToldClaim, path: string): string {
  const { lines, worktree, turn, agoMs } = claim;
  const where = worktree === undefined ? '' : ` in the worktree ${pathText(worktree)}`;
  const when = timeAgo(0, agoMs);
  const what = lines === undefined ? pathText(path) : `${lineWords(lines)} of ${pathText(path)}`;
  const open = turn === undefined ? '' : '; its turn is still open';
  return `${sessionWords(claim)} changed ${what}${where} ${when}${open}.`;
}

/**
 * The writer of a change in words: ` by session agent-9 (codex), whose turn is still open,`. Empty if no session is
 * known.
 */
function writersIn({ writer, claims = [] }: NoticeOf<'changed-elsewhere'>): string {
  if (claims.length === 0) return writer === undefined ? '' : ` by session ${clip(phrase(writer), 100)}`;
  const writers = claims.map((claim) => {
    const open = claim.turn === undefined ? '' : ', whose turn is still open,';
    return `${sessionWords(claim).replace('Session', 'session')}${open}`;
  });
  return ` by ${writers.join(' and ')}`;
}

/** The session and its program in words: `Session agent-9 (codex)`. */
function sessionWords({ session, client }: Pick<ToldClaim, 'session' | 'client'>): string {
  const program = client === undefined ? '' : ` (${clip(phrase(client), 60)})`;
  return `Session ${clip(phrase(session), 100)}${program}`;
}

function othersAtWork({ claims, cut }: NoticeOf<'others-at-work'>): string {
  const groups = new Map<string, string[]>();
  for (const claim of claims) {
    const who = sessionWords(claim);
    groups.set(who, [...(groups.get(who) ?? []), `${pathText(claim.path)} (${timeAgo(0, claim.agoMs)})`]);
  }
  const parts = [...groups].map(([who, paths]) => `${who} works on ${paths.join(', ')}`);
  return `${parts.join('; ')}${cut > 0 ? `; and ${cut} more files` : ''}.`;
}

function someOf(paths: readonly string[], cut = 0): string {
  const shown = paths.slice(0, MAX_PATHS).map((path) => pathText(path));
  const more = paths.length - shown.length + cut;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

const TIERS: Readonly<Record<MatchTier, string>> = {
  exact: '',
  'line-endings': 'The text was found after ignoring differences in line endings.',
  'trailing-space': 'The text was found after ignoring spaces at the ends of lines.',
  punctuation: 'The text was found after ignoring the style of quotes and dashes.',
  'line-numbers': 'The line numbers of a read were removed from the text; leave them out.',
  indentation: 'The text was found with another indentation; the new text was indented like the file.',
  'blank-lines':
    'The text was found with one blank line more or less; the blank lines of the file were kept.',
  'inner-spacing': 'The text was found with other spaces inside its lines; those of the file were kept.',
  escapes: 'The text was escaped once too often; old and new text were unescaped.',
};

function changedElsewhere(notice: NoticeOf<'changed-elsewhere'>): string {
  const who = writersIn(notice);
  const cut = notice.truncated ? '\nThis is not all of it; read the file for the rest.' : '';
  return `The file had been changed elsewhere${who} since it was read; this change was made to it as it is now. What else changed:\n${quotation(notice.diff)}${cut}`;
}

/** The notice about a change of a stale file that was made. The preset `staleness` names the file. */
function staleWarning({ text }: NoticeOf<'stale-warning'>, { path, wording }: NoticeOptions): string {
  const what = wording === 'staleness' && path !== undefined ? `File ${pathText(path)}` : 'Note';
  return `${what}: ${phrase(text)}. The change was made anyway; the journal keeps what it replaced, and an undo brings it back.`;
}

function changedSeenFiles({ paths, cut }: NoticeOf<'changed-seen-files'>): string {
  const shown = paths.slice(0, MAX_PATHS);
  const more = paths.length - shown.length + cut;
  const names = shown.map(pathText).join(', ');
  const total = countOf(paths.length + cut, 'file');
  return `${total} that you had read changed: ${names}${more > 0 ? ` and ${more} more` : ''}.`;
}
