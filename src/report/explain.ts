import type { PresetName } from '../model/policy.ts';
import type { Refusal, RefusalCode, RefusalOf } from '../model/verdict.ts';
import { countOf } from './amounts.ts';
import { pathText } from './bounded.ts';
import { evidence, quoted, whatDiffers } from './evidence.ts';
import { nextStep } from './next-step.ts';
import { firstSentence } from './sentences.ts';
import { LOOKFIRST_TOOLS, type ToolNames } from './tool-names.ts';

export interface ExplainOptions {
  /** The present time, for "seen 5m ago". Default: the clock. */
  readonly nowMs?: number | undefined;
  /** Tool names for the next step. Default: Lookfirst's own tools. */
  readonly tools?: ToolNames | undefined;
  /** The preset whose sentences are used. Default: that of the session that refused. */
  readonly wording?: PresetName | undefined;
  /** Set for a client without a name: nothing is remembered between its calls. */
  readonly forgets?: true;
  /** Set if file contents that a shell command prints count as read, as they do with hooks. */
  readonly shellReads?: true;
}

const MAX_BATCH = 20;

const FIRST_EXPLAINED = 3;
const EXPLAINED_EVERY = 5;

interface Advice {
  readonly why: string;
  readonly out: string;
}
type Advise<C extends RefusalCode = RefusalCode> = (
  refusal: RefusalOf<C>,
  tools: ToolNames,
  options: Pick<ExplainOptions, 'shellReads'>,
) => Advice;

const ADVICE: { readonly [C in RefusalCode]?: Advise<C> } = {
  NOT_READ: (_, tools, { shellReads }) => ({
    why: shellReads
      ? 'a read counts only if it succeeded, in this session, and showed lines of this file; a read by another agent does not count'
      : `a read counts only if it succeeded, in this session, for this path, with ${tools.read}; a read by a shell or another agent does not count`,
    out: withRevision(`${tools.read} it, and check that it succeeded, before the next try`, tools),
  }),
  PARTIALLY_READ: ({ detail }, tools) =>
    detail?.reason === 'clamped'
      ? {
          why: 'its very long lines are cut at every read, so it is never seen whole',
          out: `change single places with ${tools.edit}`,
        }
      : {
          why: 'reading the same lines again adds nothing; every missing line must be shown while the file stays the same',
          out: `read exactly the missing lines, or change single places with ${tools.edit}`,
        },
  REDACTED_READ: (_, tools) => ({
    why: 'every read masks the same values, so it is never seen whole',
    out: `change single places with ${tools.edit}`,
  }),
  READ_EXPIRED: (_, tools) => ({
    why: 'too much time passes between the read and the change',
    out: `${tools.read} it and make the change directly afterwards`,
  }),
  STALE: (refusal, tools) =>
    refusal.detail?.cause === 'repeated'
      ? {
          why: 'the same content was sent again, although it was written before the change was shown',
          out: withRevision('send content that keeps the change', tools),
        }
      : {
          why: 'another program (a formatter, a sync, another session) keeps changing the file',
          out:
            refusal.action === 'overwrite'
              ? `change single places with ${tools.edit}, which tolerates changes elsewhere in the file`
              : `${tools.read} it and make the change directly afterwards`,
        },
  REVISION_MISMATCH: (_, tools) => ({
    why: 'the revision sent belongs to earlier bytes',
    out: `take the revision from the latest ${tools.read}, or leave it out after reading the file`,
  }),
  NO_MATCH: (refusal, tools) => ({
    why: 'the text sent is not in the file, character by character',
    out: refusal.detail?.seenWhole
      ? 'copy a shorter, exact piece of the text as it was shown'
      : `${tools.read} the place and copy a shorter, exact piece of it`,
  }),
  AMBIGUOUS_MATCH: () => ({
    why: 'the text sent is still in more than one place',
    out: 'include more lines above and below until only one place matches',
  }),
  UNVERIFIABLE: () => ({
    why: 'the check itself fails, whatever was read',
    out: 'work on another file',
  }),
  BUSY: () => ({
    why: 'the other writer still holds the file',
    out: 'do something else first',
  }),
};

/**
 * Explains a refusal to the agent: what was refused and why, what was seen and when, and the next
 * step. The length is bounded. Repeated refusals sometimes also say why repeating does not help;
 * see `explainsItself`.
 */
export function explain(refusal: Refusal, options: ExplainOptions = {}): string {
  const { tools = LOOKFIRST_TOOLS, nowMs = Date.now() } = options;
  const template = templateFor(options.wording ?? refusal.wording ?? 'default', refusal);
  const own =
    template === undefined
      ? [firstSentence(refusal), ...evidence(refusal, nowMs)]
      : inSeedWords(template, refusal, { nowMs, tools });
  // A refusal that has `now` or the next step `repeat` lets a repeated call through, so do not say
  // that repeating does not help.
  const repeatable = whatDiffers(refusal) !== undefined || refusal.next === 'repeat';
  const again = !repeatable && explainsItself(refusal.detail?.repeated ?? 0);
  return [
    ...own,
    ...batch(refusal),
    // The preset's own sentence already contains the next step.
    ...(template === undefined ? [nextStep(refusal, tools, options)] : []),
    ...(again ? [whyAgain(refusal, tools, options)] : []),
  ].join('\n');
}

/**
 * The preset's own sentence, followed by facts that it has no place for: a special cause, and the
 * part of the file that the refusal shows.
 */
function inSeedWords(
  template: string,
  refusal: Refusal,
  { nowMs, tools }: { readonly nowMs: number; readonly tools: ToolNames },
): string[] {
  const { detail } = refusal;
  const differs = whatDiffers(refusal);
  const { mtimeMs, seenMtimeMs } = (refusal.code === 'STALE' ? refusal.detail : undefined) ?? {};
  const count = refusal.code === 'AMBIGUOUS_MATCH' ? refusal.detail?.count : undefined;
  const sentence = fill(template, {
    path: pathText(refusal.path),
    tool: tools.read,
    count: count === undefined ? 'several' : String(count),
    reason: differs,
    proceed: differs === undefined ? undefined : 'Nothing was changed; to proceed, repeat the same call.',
    mtime: isoTime(mtimeMs),
    read: isoTime(seenMtimeMs ?? detail?.seenAtMs),
  });
  if (refusal.code === 'NOT_READ' && detail?.reason !== undefined)
    return [sentence, ...evidence(refusal, nowMs)];
  return [sentence, ...quoted(refusal)];
}

/** One line for each refused file of a batch; no part of the batch was carried out. */
function batch({ detail }: Refusal): string[] {
  const refusals = detail?.refusals ?? [];
  if (refusals.length === 0) return [];
  const lines = refusals.slice(0, MAX_BATCH).map((refusal) => `- ${firstSentence(refusal)}`);
  const more = refusals.length - lines.length;
  const unchecked = detail?.unchecked ?? 0;
  const rest = [
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(unchecked > 0 ? [`${countOf(unchecked, 'other path')} not checked`] : []),
  ];
  return ['Nothing was changed. Refused:', ...lines, ...(rest.length > 0 ? [`- ${rest.join('; ')}`] : [])];
}

/**
 * The time as ISO 8601 in UTC with milliseconds. The sentences of the preset `file-time` have UTC
 * times too, although the system whose rules this preset copies shows local times.
 */
function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/**
 * True for the third refusal in a row with the same code and path, then for every fifth. Such a
 * refusal explains why repeating does not help.
 */
function explainsItself(repeated: number): boolean {
  return repeated >= FIRST_EXPLAINED && (repeated - FIRST_EXPLAINED) % EXPLAINED_EVERY === 0;
}

/** Says why repeating the call did not help, and what to do instead. */
function whyAgain<C extends RefusalCode>(
  refusal: RefusalOf<C>,
  tools: ToolNames,
  options: ExplainOptions,
): string {
  const count = refusal.detail?.repeated ?? FIRST_EXPLAINED;
  const { why, out } = (ADVICE[refusal.code] ?? OTHERWISE)(refusal, tools, options);
  return `This is refusal ${count} in a row for this path. Why repeating does not help: ${why}. Way out: ${out}, or tell the user that you are stuck.`;
}

const OTHERWISE: Advise = () => ({
  why: 'the same call meets the same rule every time',
  out: 'do what the next step says instead of repeating the call',
});

function withRevision(out: string, tools: ToolNames): string {
  const { revision } = tools.arguments;
  return revision === undefined ? out : `${out}, or name the version you build on with ${revision}`;
}

/**
 * Sentences of a preset, by `CODE/action`, `CODE/kind` or `CODE`. A refusal without a sentence here
 * gets the default one. `explain` fills in names in braces, such as `{path}`. A line with an
 * unknown value is omitted.
 */
type Wording = Readonly<Record<string, string>>;

const DEFAULT: Wording = {};

/** The sentences of each preset; `default` and `strict` have none here. */
const WORDINGS: Readonly<Record<PresetName, Wording>> = {
  default: DEFAULT,
  strict: DEFAULT,
  sandbox: {
    'NOT_READ/overwrite': 'refusing to overwrite {path}: Read it first',
    'NOT_READ/edit': 'refusing to edit {path}: Read it first',
    'NOT_A_FILE/directory': 'path is a directory: {path}',
    NO_MATCH: 'old_string not found in {path}',
    AMBIGUOUS_MATCH:
      'old_string matched {count} times in {path}; add context to make it unique or set replace_all=true',
  },
  'file-time': {
    NOT_READ:
      'File {path} has not been read in this session. You MUST use the {tool} tool first before writing to existing files',
    STALE:
      'File {path} has been modified since it was last read.\nLast modification: {mtime}\nLast read: {read}\n\nPlease use the {tool} tool again to get the latest contents before modifying it.',
  },
  'thread-history': {
    'NOT_READ/overwrite': notRead("exists but hasn't", 'overwriting'),
    'NOT_READ/insert': notRead("hasn't", 'inserting'),
    'NOT_READ/edit': notRead("hasn't", 'editing'),
    NOT_READ: notRead("exists but hasn't", 'modifying'),
  },
  staleness: {
    STALE:
      'WARNING: File "{path}" has been modified externally since you last read it.\nReason: {reason}\nYou should re-read the file before making changes to avoid overwriting external edits.\nIf you proceed anyway, external changes will be lost. {proceed}',
  },
};

/** The preset's own template for this refusal, if it has one. */
function templateFor(wording: PresetName, refusal: Refusal): string | undefined {
  const words = WORDINGS[wording];
  const { code, action, next } = refusal;
  // No preset has a sentence that suggests a listing, because the systems that the presets copy
  // never require one.
  if (next === 'list') return undefined;
  return words[`${code}/${action}`] ?? words[`${code}/${kindIn(refusal)}`] ?? words[code];
}

function kindIn({ detail }: Refusal): string | undefined {
  return detail !== undefined && 'kind' in detail ? detail.kind : undefined;
}

/** Fills in a template and drops lines that need an unknown value. */
function fill(template: string, values: Readonly<Record<string, string | undefined>>): string {
  const lines: string[] = [];
  for (const line of template.split('\n')) {
    const names = [...line.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    if (names.some((name) => values[name] === undefined)) continue;
    // Use a replacer function, because a value may contain `$&`, which has a meaning in a
    // replacement text.
    lines.push(line.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ''));
  }
  return lines.join('\n');
}

function notRead(has: string, doing: string): string {
  return `File {path} ${has} been read in this conversation. Use {tool} to examine the current contents before ${doing}.`;
}
