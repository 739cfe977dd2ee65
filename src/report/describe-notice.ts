import type { ToldClaim } from '../model/claim.ts';
import type { PresetName } from '../model/policy.ts';
import type { MatchTier, Notice } from '../model/results.ts';
import { countOf, lineWords, relativeTime } from './amounts.ts';
import { clip, pathText, phrase, quotation } from './bounded.ts';

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
  switch (notice.kind) {
    case 'changed-elsewhere':
      return changedElsewhere(notice);
    case 'unseen-lines':
      return `This changed ${lineWords(notice.ranges)}, which had not been read.`;
    case 'unseen-append':
      return 'This session has not read what the file holds now; the text was added at its end.';
    case 'match-tier':
      return TIERS[notice.tier];
    case 'quotes-straightened':
      return `Replaced ${countOf(notice.count, 'typographic quote')} in code with straight ones.`;
    case 'hard-links-broken':
      return `The file has ${countOf(notice.count, 'other name')} (hard links), which keep the old bytes.`;
    case 'mode-bits-dropped':
      return `The file lost its ${phrase(notice.bits)} permission.`;
    case 'owner-changed':
      return 'The file now belongs to the user that runs Lookfirst.';
    case 'xattrs-lost':
      return 'The file lost its extended attributes.';
    case 'stale-warning':
      return staleWarning(notice.text, options);
    case 'form-changed':
      return `The program that wrote ${pathText(notice.path)} changed its form: ${phrase(notice.what)}.`;
    case 'late-write':
      return `Another program still had the replaced ${pathText(notice.path)} open and wrote to it afterwards; what it wrote is kept at ${pathText(notice.retained)}.`;
    case 'met-save':
      return `Another program saved ${pathText(notice.path)} during this change. Copies of what it wrote are kept: ${someOf(notice.kept)}. Check that its save is still there.`;
    case 'changed-seen-files':
      return changedSeenFiles(notice.paths, notice.cut);
    case 'bypassed':
      return `The user's rule for ${phrase(notice.glob)} allowed this without a read; the journal records it.`;
    case 'not-recorded':
      return 'The journal could not be written, so this change cannot be undone.';
    case 'not-noted':
      return 'What was shown could not be recorded, so it does not count as read. Read it again before changing it.';
    case 'overtaken':
      return `While this change was under way, session ${clip(phrase(notice.session), 100)} changed ${pathText(notice.path)} (change ${phrase(notice.change)}): check that its change is still there.`;
    case 'came-back':
      return 'The file had changed back to content that this session has seen, so the change was made to that.';
    case 'lost-change':
      return [
        `The command dropped a change to ${pathText(notice.path)} that another writer made after it was read. The user can undo the command with lookfirst undo ${phrase(notice.change)}. What was dropped:`,
        quotation(notice.diff),
      ].join('\n');
    case 'older-files':
      return `These files are older than the command. Their earlier paths are not recorded, so undoing the command leaves them where they are: ${someOf(notice.paths, notice.cut)}.`;
    case 'not-kept':
      return `The earlier bytes of these files could not be kept, so undo cannot bring them back: ${someOf(notice.paths, notice.cut)}.`;
    case 'destroyed':
      return `This removed what nothing else holds: ${someOf(notice.names, notice.cut)}. It is kept: lookfirst undo ${phrase(notice.change)} restores it.`;
    case 'in-stash':
      return `A stash still has what this removed: ${someOf(notice.paths, notice.cut)}. git stash list names it.`;
    case 'work-destroyed':
      return `${sessionWords({ session: notice.by })}'s command "${phrase(notice.command)}" removed your uncommitted change to ${someOf(notice.paths)}. lookfirst undo ${phrase(notice.change)} restores it.`;
    case 'claimed':
      return `${notice.claims.map((claim) => claimWords(claim, notice.path)).join(' ')} Read the file again right before you change it.`;
    case 'others-at-work':
      return othersAtWork(notice.claims, notice.cut);
    case 'other-worktree':
      return `This writes ${pathText(notice.path)}, but you work in the worktree ${pathText(notice.own)}. You probably meant ${pathText(notice.meant)}.`;
    case 'recreated':
      return 'The file had been deleted since it was read; it was created again.';
    default:
      return notice satisfies never;
  }
}

/** One sentence about another session's claim on a file. */
function claimWords(claim: ToldClaim, path: string): string {
  const { lines, worktree, turn, agoMs } = claim;
  const where = worktree === undefined ? '' : ` in the worktree ${pathText(worktree)}`;
  const when = relativeTime(0, agoMs);
  const what = lines === undefined ? pathText(path) : `${lineWords(lines)} of ${pathText(path)}`;
  const open = turn === undefined ? '' : '; its turn is still open';
  return `${sessionWords(claim)} changed ${what}${where} ${when}${open}.`;
}

/**
 * The writer of a change in words: ` by session agent-9 (codex), whose turn is still open,`. Empty if no session is
 * known.
 */
function writersIn({ writer, claims = [] }: Extract<Notice, { kind: 'changed-elsewhere' }>): string {
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

function othersAtWork(claims: readonly ToldClaim[], cut: number): string {
  const groups = new Map<string, string[]>();
  for (const claim of claims) {
    const who = sessionWords(claim);
    groups.set(who, [
      ...(groups.get(who) ?? []),
      `${pathText(claim.path)} (${relativeTime(0, claim.agoMs)})`,
    ]);
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

function changedElsewhere(notice: Extract<Notice, { kind: 'changed-elsewhere' }>): string {
  const who = writersIn(notice);
  const cut = notice.truncated ? '\nThis is not all of it; read the file for the rest.' : '';
  return `The file had been changed elsewhere${who} since it was read; this change was made to it as it is now. What else changed:\n${quotation(notice.diff)}${cut}`;
}

/** The notice about a change of a stale file that was made. The preset `staleness` names the file. */
function staleWarning(text: string, { path, wording }: NoticeOptions): string {
  const what = wording === 'staleness' && path !== undefined ? `File ${pathText(path)}` : 'Note';
  return `${what}: ${phrase(text)}. The change was made anyway; the journal keeps what it replaced, and an undo brings it back.`;
}

function changedSeenFiles(paths: readonly string[], cut: number): string {
  const shown = paths.slice(0, MAX_PATHS);
  const more = paths.length - shown.length + cut;
  const names = shown.map(pathText).join(', ');
  const total = countOf(paths.length + cut, 'file');
  return `${total} that you had read changed: ${names}${more > 0 ? ` and ${more} more` : ''}.`;
}
