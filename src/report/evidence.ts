import type { AtRisk, Refusal, RefusalCode, RefusalOf, Writer } from '../model/verdict.ts';
import { lineWords } from './amounts.ts';
import { clip, pathText, phrase, quotation } from './bounded.ts';
import { endedWords } from './command-words.ts';
import { exactTime, timeAgo } from './times.ts';

const MAX_PLACES = 10;
const MAX_PLACE_CHARS = 200;
/** Maximum number of things to name that a refused command would destroy. */
const MAX_AT_RISK = 20;

/**
 * Sentences for a refusal: what the session saw, when, and what contradicts the change. Empty if
 * the refusal's first sentence already says everything.
 */
export function evidence(refusal: Refusal, nowMs: number): string[] {
  const kept = refusal.detail?.kept ?? [];
  const told = kept.length === 0 ? [] : [keptWords(kept)];
  return [...said(refusal, nowMs), ...told, ...quoted(refusal)];
}

/**
 * Quotations in the refusal: the diff, the command's output, the most similar text, the places
 * found.
 */
export function quoted(refusal: Refusal): string[] {
  const { output, endedProcesses = [] } = refusal.detail ?? {};
  return [
    ...changedSince(refusal),
    ...(refusal.code === 'WOULD_DESTROY' ? atRiskWords(refusal.detail?.atRisk) : []),
    ...(output === undefined || output === '' ? [] : [`The command printed:\n${quotation(output)}`]),
    ...endedWords({ endedProcesses }),
    ...(refusal.code === 'NO_MATCH' ? nearest(refusal) : []),
    ...(refusal.code === 'AMBIGUOUS_MATCH' ? found(refusal) : []),
  ];
}

function changedSince({ code, detail }: Refusal): string[] {
  const diff = code === 'STALE' || code === 'COMMAND_CONFLICT' ? detail?.diff : undefined;
  return diff === undefined ? [] : [`What changed since:\n${quotation(diff)}`];
}

function nearest({ detail: { nearest: text, difference } = {} }: RefusalOf<'NO_MATCH'>): string[] {
  if (text === undefined) return [];
  const differs = difference === undefined ? '' : ` (${phrase(difference)})`;
  return [`The most similar text in it${differs}:\n${quotation(text)}`];
}

function found({ detail: { places = [], count = 0 } = {} }: RefusalOf<'AMBIGUOUS_MATCH'>): string[] {
  if (places.length === 0) return [];
  const shown = places.slice(0, MAX_PLACES);
  const more = Math.max(count, places.length) - shown.length;
  const lines = shown.map(({ line, text }) => `  line ${line}: ${clip(phrase(text), MAX_PLACE_CHARS)}`);
  return [['Found at:', ...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')];
}

function said<C extends RefusalCode>(refusal: RefusalOf<C>, nowMs: number): string[] {
  const { seenAtMs } = refusal.detail ?? {};
  // Name no time if it is 0: the session then saw the file in a transcript without times.
  const when = seenAtMs === undefined || seenAtMs === 0 ? undefined : timeAgo(seenAtMs, nowMs);
  return (TELLS[refusal.code] ?? otherwise)(refusal, { when, nowMs });
}

interface Time {
  /** The time when the session saw the file, in words. */
  readonly when: string | undefined;
  readonly nowMs: number;
}

const nothing = (): string[] => [];

const TELLS: { readonly [C in RefusalCode]?: (refusal: RefusalOf<C>, time: Time) => string[] } = {
  NOT_READ: (refusal, { when }) => [notRead(refusal, when ?? 'earlier')],
  PARTIALLY_READ: (refusal, { when }) => partlyRead(refusal, when),
  STALE: (refusal, { when, nowMs }) => [
    ...seen(when),
    ...writer(refusal.detail?.writer, nowMs),
    ...heldBack(refusal),
  ],
  BUSY: ({ detail }, { nowMs }) => [
    ...writer(detail?.writer, nowMs),
    ...(detail?.reason === undefined ? [] : [sentence(detail.reason)]),
  ],
  DELETED: ({ detail }, { when }) => {
    if (detail?.cause !== 'by this session') return seen(when);
    return when === undefined ? [] : [`That was ${when}.`];
  },
  PROTECTED: ({ action, detail }) => {
    // For a command, the first sentence already contains the reason.
    if (action === 'run' || detail?.reason === undefined) return [];
    // For a folder, the reason is already a sentence. For a file, the reason only names what the
    // policy protects.
    return [
      detail.kind === 'directory' ? sentence(detail.reason) : `The policy protects ${phrase(detail.reason)}.`,
    ];
  },
  REVISION_MISMATCH: ({ detail }, { when }) =>
    detail?.reason === 'missing' ? ['There is no file at that path any more.'] : seen(when),
  REDACTED_READ: ({ detail: { cause, reason } = {} }) => {
    if (reason === undefined)
      return [
        'Writing the whole file would replace the real values with masks; reading again masks them again.',
      ];
    if (cause === 'mask') return [`It contains ${phrase(reason)}.`];
    return [`${sentence(reason)} Reading again masks it again.`];
  },
  PLACEHOLDER_CONTENT: ({ detail }) =>
    detail?.reason === undefined ? [] : [`It contains ${phrase(detail.reason)}.`],
  UNVERIFIABLE: (refusal, time) => (refusal.action === 'commit' ? [] : otherwise(refusal, time)),
  WOULD_DESTROY: ({ detail }, { nowMs }) => writer(detail?.writer, nowMs),
  COMMAND_CONFLICT: ({ detail }, { when }) => [...seen(when), ...keptLayer(detail?.layer)],
  // For the codes from here on, the first sentence already contains the reason.
  OUTSIDE_WORKSPACE: nothing,
  NOT_FOUND: nothing,
  NOT_A_FILE: nothing,
  NO_SANDBOX: nothing,
  READ_ONLY: nothing,
  INVALID_ARGUMENT: nothing,
};

function otherwise({ detail }: Pick<Refusal, 'detail'>, { when }: Time): string[] {
  const reason = detail?.reason;
  return [...(reason === undefined ? [] : [sentence(reason)]), ...seen(when)];
}

function seen(when: string | undefined): string[] {
  return when === undefined ? [] : [`It was last seen ${when}.`];
}

/**
 * Describes how a file has changed since the session saw it. Undefined if the refusal lacks the
 * state that the session saw or the present state.
 */
export function whatDiffers(refusal: Refusal): string | undefined {
  if (refusal.code !== 'STALE' && refusal.code !== 'COMMAND_CONFLICT') return undefined;
  const { seen: then, now } = refusal.detail ?? {};
  if (then === undefined || now === undefined) return undefined;
  const times = [then.mtimeMs, now.mtimeMs].map((ms) => (ms === undefined ? 'unknown' : exactTime(ms)));
  const hashes = [then.sha256, now.sha256].map((sha256) => sha256.slice(0, 12));
  return `file modified externally (mtime: ${times.join(' → ')}, size: ${then.size} → ${now.size}, sha256: ${hashes.join(' → ')})`;
}

function heldBack(refusal: Refusal): string[] {
  const differs = whatDiffers(refusal);
  if (differs === undefined) return [];
  return [sentence(differs), 'If you repeat the same call, it proceeds, and the outside change is lost.'];
}

/** A quoted command line is cut to this length. */
const MAX_COMMAND = 200;

function notRead({ detail, next }: RefusalOf<'NOT_READ'>, when: string): string {
  switch (detail?.reason) {
    case 'evicted':
      return `It was seen ${when}, but so many files were seen since that this one was dropped.`;
    case 'compacted':
      return `It was seen ${when}, before the conversation was summarised, so it no longer counts.`;
    case 'rewound':
      return `It was seen ${when}, in a part of the conversation that was rewound.`;
    case 'forgotten':
      return 'The record of what was seen was dropped, on request or because the file had changed meanwhile.';
    case 'recreated':
      return `This session deleted it ${when}; another program created the file that is there now.`;
    case 'changed': {
      const command = clip(phrase(detail.writer?.command ?? ''), MAX_COMMAND);
      return `This session had seen it, but its command changed it since: ${command}`;
    }
    case 'unverified':
      return 'The conversation shows a read of it, but nothing confirms that these bytes were read.';
    default:
      return next === 'list'
        ? 'This session has not been shown all that is in it.'
        : 'This session has not seen it.';
  }
}

function partlyRead({ detail = {} }: RefusalOf<'PARTIALLY_READ'>, when: string | undefined): string[] {
  const parts: string[] = [];
  const { missing, totalLines } = detail;
  if (missing !== undefined && missing.length > 0) {
    const lines = lineWords(missing);
    parts.push(`Not read: ${lines}${totalLines === undefined ? '' : ` of ${totalLines}`}.`);
  } else if (detail.reason === undefined) parts.push('The reads so far do not cover the whole file.');
  if (detail.reason === 'clamped') parts.push('Very long lines are cut, and reading again cuts them again.');
  return [...parts, ...seen(when)];
}

function keptLayer(layer: string | undefined): string[] {
  if (layer === undefined) return ['Nothing that the command did was committed.'];
  return [`Nothing that the command did was committed. Its writes are kept for 7 days as ${phrase(layer)}.`];
}

function atRiskWords(atRisk: readonly AtRisk[] = []): string[] {
  const lines = atRisk
    .slice(0, MAX_AT_RISK)
    .map(
      ({ what, kind, reason }) =>
        `- ${pathText(what)}${kind === 'file' ? '' : ` (${kind})`}: ${phrase(reason)}`,
    );
  const more = atRisk.length - lines.length;
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])];
}

function writer(writer: Writer | undefined, nowMs: number): string[] {
  if (writer === undefined) return [];
  const { session, client, turn, atMs } = writer;
  const program = client === undefined ? '' : ` (${clip(phrase(client), 60)})`;
  const when = `${timeAgo(atMs, nowMs)}${turn === undefined ? '' : `, in its turn ${clip(phrase(turn), 60)}`}`;
  return [`Session ${clip(phrase(session), 100)}${program} changed it ${when}.`];
}

/** Makes a sentence of a reason or an error: on one line, with a capital and a full stop. */
function sentence(text: string): string {
  const plain = phrase(text);
  const capital = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

const MAX_KEPT = 3;

/**
 * Says that another program wrote the file during a change, and names the files that keep the bytes
 * of that program.
 */
export function keptWords(kept: readonly string[]): string {
  const shown = kept.slice(0, MAX_KEPT).map(pathText).join(', ');
  const more = kept.length > MAX_KEPT ? ` and in ${kept.length - MAX_KEPT} more files there` : '';
  return `Another program wrote the file at the same moment; the bytes that it wrote are kept at ${shown}${more}.`;
}
