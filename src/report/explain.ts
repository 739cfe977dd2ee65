import type { PresetName } from '../model/policy.ts';
import type { Refusal, RefusalCode } from '../model/verdict.ts';
import { clip, jsonText, pathText } from './bounded.ts';
import { evidence, quoted, whatDiffers } from './evidence.ts';
import { firstSentence, hasLineNumbers } from './sentences.ts';
import { callOf, LOOKFIRST_TOOLS, readCall, type ToolNames } from './tool-names.ts';
import { fill, templateFor } from './wordings.ts';

export interface ExplainOptions {
  readonly nowMs: number;
  /** Tool names for the next step. Default: the tools of the default dialect. */
  readonly tools?: ToolNames | undefined;
  /** The preset whose sentences are used. Default: the default sentences. */
  readonly wording?: PresetName | undefined;
  /** Set for a client without a name: nothing is remembered between its calls. */
  readonly forgets?: true;
}

const MAX_BATCH = 20;

const FIRST_EXPLAINED = 3;
const EXPLAINED_EVERY = 5;

interface Advice {
  readonly why: string;
  readonly out: string;
}
type Advise = (refusal: Refusal, tools: ToolNames) => Advice;

const ADVICE: Readonly<Partial<Record<RefusalCode, Advise>>> = {
  NOT_READ: (_, tools) => ({
    why: `a read counts only if it succeeded, in this session, for this path, with ${tools.read}; a read by a shell or another agent does not count`,
    out: withRevision(`${tools.read} it, and check that it succeeded, before the next try`, tools),
  }),
  PARTIALLY_READ: ({ detail }, tools) =>
    detail?.reason === 'clamped'
      ? {
          why: 'its very long lines are cut at every read, so it is never seen whole',
          out: `change single places with ${tools.edit}`,
        }
      : {
          why: 'a read of lines already shown adds nothing; every missing line must be shown once while the file stays the same',
          out: `read exactly the missing lines, or change single places with ${tools.edit}`,
        },
  REDACTED_READ: (_, tools) => ({
    why: 'every read blanks out the same parts, so it is never seen whole',
    out: `change single places with ${tools.edit}`,
  }),
  READ_EXPIRED: (_, tools) => ({
    why: 'the time allowed between a read and the change keeps running out',
    out: `${tools.read} it and make the change directly afterwards`,
  }),
  STALE: (refusal, tools) =>
    refusal.detail?.reason === 'repeated'
      ? {
          why: 'the very same content was sent again, which was written before the change was shown',
          out: withRevision('send content that keeps the change', tools),
        }
      : {
          why: 'something else (a formatter, a sync, another session) keeps changing the file',
          out:
            refusal.action === 'overwrite'
              ? `change single places with ${tools.edit}, which may follow changes elsewhere in the file`
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

const MAX_CALL_PATH_CHARS = 1000;
/** Depth that covers nearly every tree; the maximum of a listing. */
const ALL_LEVELS = 32;
/** Short enough to fit into one read under any policy. */
const FIRST_PAGE = { from: 1, to: 500 } as const;

/**
 * Explains a refusal to the agent: what was refused and why, with the code; what was seen and when; the next step. The
 * length is bounded. The third refusal of a kind in a row, and every fifth after it, also says why repeating does not
 * help.
 */
export function explain(refusal: Refusal, options: ExplainOptions): string {
  const tools = options.tools ?? LOOKFIRST_TOOLS;
  const template = templateFor(options.wording ?? 'default', refusal);
  const own =
    template === undefined
      ? [firstSentence(refusal), ...evidence(refusal, options.nowMs)]
      : inSeedWords(template, refusal, { nowMs: options.nowMs, tools });
  // A change that was held back is allowed when it is repeated.
  const again = refusal.detail?.now === undefined && explainsItself(refusal.detail?.repeated ?? 0);
  return [
    ...own,
    ...batch(refusal),
    // The preset's own sentence already contains the next step.
    ...(template === undefined ? [nextStep(refusal, tools, options)] : []),
    ...(again ? [whyAgain(refusal, tools)] : []),
  ].join('\n');
}

/**
 * The preset's own sentence, followed only by facts that the sentence cannot contain: a special cause, and the part
 * of the file that the refusal shows.
 */
function inSeedWords(
  template: string,
  refusal: Refusal,
  { nowMs, tools }: { readonly nowMs: number; readonly tools: ToolNames },
): string[] {
  const { detail } = refusal;
  const differs = detail === undefined ? undefined : whatDiffers(detail);
  const sentence = fill(template, {
    path: pathText(refusal.path),
    tool: tools.read,
    count: detail?.count === undefined ? 'several' : String(detail.count),
    reason: differs,
    proceed: differs === undefined ? undefined : 'Nothing was changed; to proceed, repeat the same call.',
    mtime: isoTime(detail?.mtimeMs),
    read: isoTime(detail?.seenMtimeMs ?? detail?.seenAtMs),
  });
  if (refusal.code === 'NOT_READ' && detail?.reason !== undefined)
    return [sentence, ...evidence(refusal, nowMs)];
  return [sentence, ...quoted(detail ?? {})];
}

/** One line for each refused file of a batch; nothing of the batch was done. */
function batch({ detail }: Refusal): string[] {
  const refusals = detail?.refusals ?? [];
  if (refusals.length === 0) return [];
  const lines = refusals.slice(0, MAX_BATCH).map((refusal) => `- ${firstSentence(refusal)}`);
  const more = refusals.length - lines.length;
  return ['Nothing was changed. Refused were:', ...lines, ...(more > 0 ? [`- and ${more} more`] : [])];
}

/** ISO 8601 with milliseconds, in UTC. Seed B, which the preset `file-time` copies, used local times. */
function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/**
 * True if the refusal must explain why repeating does not help: at the third refusal in a row with one code on one
 * path, then at every fifth.
 */
function explainsItself(repeated: number): boolean {
  return repeated >= FIRST_EXPLAINED && (repeated - FIRST_EXPLAINED) % EXPLAINED_EVERY === 0;
}

/** Says why repeating the call did not help, and what to do instead. */
function whyAgain(refusal: Refusal, tools: ToolNames): string {
  const count = refusal.detail?.repeated ?? FIRST_EXPLAINED;
  const { why, out } = (ADVICE[refusal.code] ?? OTHERWISE)(refusal, tools);
  return `This is refusal ${count} in a row for this path. Why repeating does not help: ${why}. Way out: ${out}, or tell the user that you are stuck.`;
}

const OTHERWISE: Advise = () => ({
  why: 'the same call meets the same rule every time',
  out: 'do what the next step says instead of repeating the call',
});

function withRevision(out: string, tools: ToolNames): string {
  const { revision } = tools.arguments;
  return revision === undefined ? out : `${out}, or prove what you build on with ${revision}`;
}

/** The next step as a sentence that names a tool of the dialect, or says that these tools offer no way. */
function nextStep(refusal: Refusal, tools: ToolNames, { forgets }: Pick<ExplainOptions, 'forgets'>): string {
  if (forgets && refusal.code === 'NOT_READ') return namelessRead(refusal, tools);
  const undone = refusal.action === 'undo' ? undoStep(refusal, tools) : undefined;
  if (undone !== undefined) return undone;
  switch (refusal.next) {
    case 'read':
      return read(refusal, tools);
    case 'read_range':
      return readRange(refusal, tools);
    case 'read_again':
      return readAgain(refusal, tools);
    case 'list':
      return list(refusal, tools);
    case 'other_path':
      return otherPath(refusal, tools);
    case 'other_tool':
      return otherTool(refusal, tools);
    case 'add_context':
      return addContext(refusal, tools);
    case 'use_edit':
      return useEdit(refusal, tools);
    case 'fix_argument':
      return fixArgument(refusal, tools);
    case 'retry_later':
      return refusal.detail?.writer === undefined
        ? 'Next: make the same call again in a moment.'
        : `Next: do other work first; then ${readCall(tools, pathOf(refusal))} and repeat the change. The user can release it with lookfirst claims release.`;
    case 'ask_human':
      return askHuman(refusal);
    case 'none':
      return 'There is no way to do this with these tools.';
    default:
      return refusal.next satisfies never;
  }
}

/** The next step of a refused undo, where it differs from that of another change. */
function undoStep(refusal: Refusal, tools: ToolNames): string | undefined {
  const { code, next, detail } = refusal;
  if (detail?.undo !== undefined && tools.undo !== undefined) {
    const call = `${tools.undo} ${jsonText(detail.undo)}`;
    if (code !== 'STALE') return `Next: ${call} takes that one back.`;
    return detail.undo.merge === true
      ? `Next: ${call} keeps later changes in other lines.`
      : `Next: ${call} first, then repeat the call.`;
  }
  if (next === 'use_edit' || (next === 'read' && code === 'STALE'))
    return `Next: ${readCall(tools, pathOf(refusal))}, then change it back with ${tools.edit}.`;
  if (next !== 'list' || code !== 'STALE' || tools.list === undefined) return undefined;
  const call = callOf(tools, 'list', { [tools.arguments.path]: pathOf(refusal) });
  return `Next: ${call} shows what was put there; move or delete it, then repeat the call.`;
}

function pathOf({ path }: Refusal): string {
  return clip(path, MAX_CALL_PATH_CHARS);
}

function read(refusal: Refusal, tools: ToolNames): string {
  const call = readCall(tools, pathOf(refusal));
  if (refusal.code === 'NOT_A_FILE') return `Next: ${call} shows it.`;
  if (refusal.code === 'ALREADY_EXISTS')
    return `Next: ${call}, then change it with ${tools.edit}, or choose another name.`;
  if (refusal.code === 'REVISION_MISMATCH')
    return `Next: ${call}, then repeat the change with the revision it gives.`;
  return `Next: ${call}, then repeat the change.`;
}

/** The next step of a client whose reads are not remembered: a read licenses its change by the revision only. */
function namelessRead(refusal: Refusal, tools: ToolNames): string {
  const { revision } = tools.arguments;
  const name = 'name the session in the URL (/mcp/NAME) or in _meta["dev.lookfirst/session"]';
  if (revision === undefined || refusal.action === 'delete' || refusal.action === 'undo')
    return `Next: ${name}; calls without a name share no memory.`;
  const call = readCall(tools, pathOf(refusal));
  return `Next: ${call}, then repeat the change with ${revision} from its receipt. Calls without a name share no memory; ${name} to need no revision.`;
}

function readRange(refusal: Refusal, tools: ToolNames): string {
  const path = pathOf(refusal);
  // A file that is too large for one read can be read in pages.
  if (refusal.code === 'TOO_LARGE')
    return `Next: ${readCall(tools, path, FIRST_PAGE)}, then the lines after those.`;
  return `Next: ${readCall(tools, path, refusal.detail?.missing?.[0])}, ${rest(refusal)}`;
}

function rest({ detail }: Refusal): string {
  const more = (detail?.missing?.length ?? 0) > 1;
  return more ? 'then the other lines named, then repeat the change.' : 'then repeat the change.';
}

function readAgain(refusal: Refusal, tools: ToolNames): string {
  const call = readCall(tools, pathOf(refusal));
  if (refusal.code === 'UNVERIFIABLE') return `Next: ${call}; if that fails too, ask the user.`;
  if (refusal.action === 'commit') return `Next: ${call}, then run the command again if it is still needed.`;
  if (refusal.code !== 'STALE') return `Next: ${call}, then repeat the change.`;
  if (refusal.detail?.reason === 'repeated')
    return `Next: send content that includes the change, ${orTheSame(refusal, tools)}.`;
  if (refusal.detail?.revision === undefined) return `Next: ${call}, then ${afterTheChange(refusal)}.`;
  const same = refusal.action === 'overwrite' ? `, ${orTheSame(refusal, tools)}` : '';
  return `Next: what changed counts as seen now; ${afterTheChange(refusal)}${same}.`;
}

function afterTheChange({ action }: Refusal): string {
  if (action === 'overwrite') return 'send content that includes what changed';
  if (action === 'edit' || action === 'insert') return 'repeat the change against the text as it is now';
  return 'repeat the call if it is still needed';
}

/** The alternative for content that needs no correction: proof that its author has seen the outside change. */
function orTheSame(refusal: Refusal, tools: ToolNames): string {
  const { revision } = tools.arguments;
  if (revision === undefined || refusal.detail?.revision === undefined)
    return `or ${readCall(tools, pathOf(refusal))} in full and send the same again if it is right as it is`;
  return `or the same with ${revision} ${JSON.stringify(refusal.detail.revision)} if it is right as it is`;
}

function list(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'NOT_FOUND') return lookAround(refusal, tools);
  if (tools.list === undefined) {
    if (tools.find === undefined) return 'Next: check the path.';
    return `Next: look with ${tools.find} for what is in it.`;
  }
  const path = { [tools.arguments.path]: pathOf(refusal) };
  if (refusal.code === 'NOT_A_FILE') return `Next: ${callOf(tools, 'list', path)} shows what is in it.`;
  const { depth } = tools.arguments;
  const call = callOf(tools, 'list', depth === undefined ? path : { ...path, [depth]: ALL_LEVELS });
  return `Next: ${call} until all of it is shown, folders below included, then repeat the call.`;
}

/** The next step for a path that does not exist: what exists instead, or where the file may be. */
function lookAround(refusal: Refusal, tools: ToolNames): string {
  if (tools.list !== undefined) {
    const folder = { [tools.arguments.path]: parentOf(pathOf(refusal)) };
    return `Next: ${callOf(tools, 'list', folder)} shows what is there.`;
  }
  return tools.find === undefined
    ? 'Next: check the path.'
    : `Next: look for the right path with ${tools.find}.`;
}

function parentOf(path: string): string {
  const slash = path.replace(/[\\/]+$/, '').search(/[\\/][^\\/]*$/);
  if (slash < 0) return '.';
  return slash === 0 ? '/' : path.slice(0, slash);
}

function otherPath(refusal: Refusal, tools: ToolNames): string {
  const { code, action, detail } = refusal;
  if (code === 'OUTSIDE_WORKSPACE')
    return 'Next: use a path inside the workspace; nothing outside of it can be reached.';
  if (code === 'NOT_A_FILE' && detail?.kind === 'directory') return 'Next: name a file in it.';
  if (code === 'NOT_FOUND') {
    // A missing parent folder is possible only if the tools do not create folders.
    const folder = { [tools.arguments.path]: parentOf(pathOf(refusal)) };
    if (action !== 'create' && action !== 'move') return lookAround(refusal, tools);
    return tools.mkdir === undefined
      ? 'Next: name a folder that exists, or let the call create it.'
      : `Next: ${callOf(tools, 'mkdir', folder)}, then repeat the call.`;
  }
  return 'Next: use another path; there is no way to do this to this one.';
}

function otherTool({ code }: Refusal, tools: ToolNames): string {
  if (code === 'DELETED') return `Next: ${tools.write} creates it anew.`;
  if (code === 'NOT_TEXT' && tools.delete !== undefined)
    return `Next: to replace it with text, ${tools.delete} it first, then ${tools.write} it; parts of it cannot be edited.`;
  return 'There is no way to do this with these tools: ask the user.';
}

function addContext(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'AMBIGUOUS_MATCH') {
    const { replaceAll } = tools.arguments;
    const all = replaceAll === undefined ? '' : `, or set ${replaceAll} to change every one`;
    return `Next: repeat the call with more of the lines around the one you mean${all}.`;
  }
  const { anchor } = refusal.detail ?? {};
  if (anchor !== undefined)
    return `Next: if you mean that text, repeat the call with ${tools.arguments.oldText ?? 'old_string'} ${jsonText(anchor)}`;
  if (refusal.detail?.seenWhole)
    return 'Next: repeat the call with text copied exactly from the read you have, without line numbers; the file is unchanged since.';
  return `Next: ${readCall(tools, pathOf(refusal))}, and copy the text exactly, without line numbers.`;
}

function useEdit(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'PLACEHOLDER_CONTENT' && hasLineNumbers(refusal.detail))
    return 'Next: send the same text without the line numbers.';
  if (refusal.code === 'PLACEHOLDER_CONTENT')
    return `Next: send the full text, or change only the affected lines with ${tools.edit}.`;
  if (refusal.code === 'REDACTED_READ' && refusal.action !== 'overwrite')
    return 'Next: leave masked values out of the text to replace; ask the user to change the value itself.';
  return `Next: change only the affected lines with ${tools.edit}, which needs no full view.`;
}

function fixArgument(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'REVISION_MISMATCH')
    return 'Next: repeat the call without a revision to create it anew.';
  const { recursive, path } = tools.arguments;
  const isFolder = refusal.action === 'delete' && refusal.detail?.kind === 'directory';
  if (!isFolder || recursive === undefined || tools.delete === undefined)
    return 'Next: correct the argument and repeat the call.';
  const call = callOf(tools, 'delete', { [path]: pathOf(refusal), [recursive]: true });
  return tools.list === undefined ? `Next: ${call}` : `Next: ${tools.list} it in full, then ${call}`;
}

function askHuman({ code, detail }: Refusal): string {
  const none = 'There is no way around this with these tools: ask the user';
  const isFile = detail?.reason !== 'session' && detail?.reason !== 'root';
  if (code === 'READ_ONLY' && isFile) return `${none} to make the file writable.`;
  if (code === 'PROTECTED' && detail?.reason === 'approval')
    return 'Next: ask the user to approve it, then repeat the call.';
  if (code === 'PROTECTED' && detail?.reason === 'declined')
    return 'Next: ask the user what to do instead; do not repeat the call.';
  if (code === 'NO_SANDBOX') return `${none} to make commands possible here.`;
  if (code === 'TOO_LARGE') return `${none} to change it, or to raise maxEditBytes in the policy.`;
  return `${none}.`;
}
