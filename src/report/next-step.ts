import type { NextStep, Refusal, RefusalOf } from '../model/verdict.ts';
import { clip, jsonText, shellPath } from './bounded.ts';
import { callOf, readCall, type ToolNames } from './tool-names.ts';

const MAX_CALL_PATH_CHARS = 1000;
/** The greatest depth that a listing accepts. It covers nearly every tree. */
const ALL_LEVELS = 32;
/** The first lines of a file. Every preset allows this many lines in one read. */
const FIRST_PAGE = { from: 1, to: 500 } as const;

/**
 * The next step as a sentence. It names a tool that the agent has, or says that none of its tools
 * can help.
 */
export function nextStep(
  refusal: Refusal,
  tools: ToolNames,
  { forgets }: { readonly forgets?: true },
): string {
  if (forgets && refusal.code === 'NOT_READ') return namelessRead(refusal, tools);
  if (forgets && refusal.action === 'undo' && refusal.next === 'none') return namelessRead(refusal, tools);
  const undone = refusal.action === 'undo' ? undoStep(refusal, tools) : undefined;
  if (undone !== undefined) return undone;
  return STEPS[refusal.next](refusal, tools);
}

const STEPS: Readonly<Record<NextStep, (refusal: Refusal, tools: ToolNames) => string>> = {
  read,
  read_range: readRange,
  read_again: readAgain,
  list,
  other_path: otherPath,
  other_tool: otherTool,
  add_context: addContext,
  use_edit: useEdit,
  fix_argument: fixArgument,
  retry_later: (refusal, tools) =>
    refusal.code !== 'BUSY' || refusal.detail?.writer === undefined
      ? 'Next: make the same call again in a moment.'
      : `Next: do other work first; then ${readCall(tools, pathOf(refusal))} and repeat the change.`,
  ask_human: askHuman,
  repeat: () =>
    'Next: leave these out, or ask the user. If you repeat the same command, it runs, and Lookfirst backs them up first.',
  none: () => 'There is no way to do this with these tools.',
};

/** The next step of a refused undo; undefined if it is the same as for other changes. */
function undoStep(refusal: Refusal, tools: ToolNames): string | undefined {
  const { code, next, detail } = refusal;
  if (detail?.undo !== undefined && tools.undo !== undefined) {
    const call = `${tools.undo} ${jsonText(detail.undo)}`;
    if (code !== 'STALE') return `Next: ${call} undoes the last change of this session.`;
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

/**
 * The next step for a client without a name. Its reads are not remembered, so its changes are
 * allowed only with the revision from a read.
 */
function namelessRead(refusal: Refusal, tools: ToolNames): string {
  const { revision } = tools.arguments;
  const name = 'name the session in the URL (/mcp/NAME) or in _meta["dev.lookfirst/session"]';
  if (revision === undefined || refusal.action === 'delete' || refusal.action === 'undo')
    return `Next: ${name}; without a name, Lookfirst remembers nothing between calls.`;
  const call = readCall(tools, pathOf(refusal));
  return `Next: ${call}, then repeat the change with ${revision} from its receipt. Without a session name, Lookfirst remembers nothing between calls. To change files without a revision, ${name}.`;
}

function readRange(refusal: Refusal, tools: ToolNames): string {
  const path = pathOf(refusal);
  // A file that is too large for one read can be read in pages.
  if (refusal.code === 'TOO_LARGE')
    return `Next: ${readCall(tools, path, FIRST_PAGE)}, then the lines after those.`;
  const { missing = [] } = (refusal.code === 'PARTIALLY_READ' ? refusal.detail : undefined) ?? {};
  const others = missing.length > 1 ? 'then the other missing lines, ' : '';
  return `Next: ${readCall(tools, path, missing[0])}, ${others}then repeat the change.`;
}

function readAgain(refusal: Refusal, tools: ToolNames): string {
  const call = readCall(tools, pathOf(refusal));
  if (refusal.code === 'UNVERIFIABLE') return `Next: ${call}; if that fails too, ask the user.`;
  if (refusal.action === 'commit') return `Next: ${call}, then run the command again if it is still needed.`;
  if (refusal.code !== 'STALE') return `Next: ${call}, then repeat the change.`;
  if (refusal.detail?.cause === 'repeated')
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

/**
 * Tells the agent how to send content again that was refused because the file had changed: after a
 * full read, or with the file's revision. Either shows that the agent knows the file as it is now.
 */
function orTheSame(refusal: RefusalOf<'STALE'>, tools: ToolNames): string {
  const { revision } = tools.arguments;
  if (revision === undefined || refusal.detail?.revision === undefined)
    return `or ${readCall(tools, pathOf(refusal))} in full, then send the same content again if it is still correct`;
  return `or send the same again with ${revision} ${JSON.stringify(refusal.detail.revision)} if it is still correct`;
}

function list(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'NOT_FOUND') return lookAround(refusal, tools);
  if (tools.list === undefined) {
    if (tools.find === undefined) return 'Next: check the path.';
    return `Next: ${tools.find} shows what is in it.`;
  }
  const path = { [tools.arguments.path]: pathOf(refusal) };
  if (refusal.code === 'NOT_A_FILE') return `Next: ${callOf(tools, 'list', path)} shows what is in it.`;
  const { depth } = tools.arguments;
  const call = callOf(tools, 'list', depth === undefined ? path : { ...path, [depth]: ALL_LEVELS });
  return `Next: ${call} until everything in it is shown, subfolders included, then repeat the call.`;
}

/** The next step for a path that does not exist: list the folder above it, or search for the right path. */
function lookAround(refusal: Refusal, tools: ToolNames): string {
  if (tools.list !== undefined) {
    const folder = { [tools.arguments.path]: folderAbove(refusal) };
    return `Next: ${callOf(tools, 'list', folder)} shows what is there.`;
  }
  return tools.find === undefined
    ? 'Next: check the path.'
    : `Next: look for the right path with ${tools.find}.`;
}

/**
 * The nearest existing folder above a missing path. If the refusal does not say how much of the
 * path is missing, returns the parent folder.
 */
function folderAbove(refusal: Refusal): string {
  let path = pathOf(refusal);
  // `absentNames` counts names of the resolved path, which has no `..`. Go up only one level in a
  // path that has `..`.
  const names = path.split(/[\\/]/).includes('..') ? 1 : absentNamesOf(refusal);
  for (let name = 0; name < names; name += 1) path = parentOf(path);
  return path;
}

function absentNamesOf({ code, detail }: Refusal): number {
  return (code === 'NOT_FOUND' ? detail?.absentNames : undefined) ?? 1;
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
    // A creation or a move usually fails here because the parent folder is missing, so suggest the
    // call that creates it.
    const folder = { [tools.arguments.path]: parentOf(pathOf(refusal)) };
    if (action !== 'create' && action !== 'move') return lookAround(refusal, tools);
    return tools.mkdir === undefined
      ? 'Next: name a folder that exists, or let the call create it.'
      : `Next: ${callOf(tools, 'mkdir', folder)}, then repeat the call.`;
  }
  return 'Next: use another path; this one cannot be used for that.';
}

function otherTool(refusal: Refusal, tools: ToolNames): string {
  const { code, action } = refusal;
  if (code === 'NOT_TEXT' && action === 'read' && tools.media !== undefined)
    return `Next: ${callOf(tools, 'media', { [tools.arguments.path]: pathOf(refusal) })} shows it.`;
  if (code === 'DELETED' && action === 'delete') return 'There is nothing left to delete.';
  if (code === 'DELETED' && action === 'move') return lookAround(refusal, tools);
  if (code === 'DELETED') return `Next: ${tools.write} creates it again.`;
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
  const { anchor, seenWhole } = (refusal.code === 'NO_MATCH' ? refusal.detail : undefined) ?? {};
  if (anchor !== undefined)
    return `Next: if you mean that text, repeat the call with ${tools.arguments.oldText ?? 'old_string'} ${withVisibleMarks(jsonText(anchor))}`;
  if (seenWhole)
    return 'Next: repeat the call with text copied exactly from what you last saw of it, without line numbers; the file is unchanged since.';
  return `Next: ${readCall(tools, pathOf(refusal))}, and copy the text exactly, without line numbers.`;
}

/**
 * Escapes combining accents in JSON, so that a model repeats them exactly and does not merge a
 * letter and its accent into one character.
 */
function withVisibleMarks(json: string): string {
  return json.replace(/[\u0300-\u036f]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function useEdit(refusal: Refusal, tools: ToolNames): string {
  const isCopied = refusal.code === 'PLACEHOLDER_CONTENT' || refusal.code === 'REDACTED_READ';
  const cause = isCopied ? refusal.detail?.cause : undefined;
  if (cause === 'line-numbers') return 'Next: send the same text without the line numbers.';
  if (cause === 'mask')
    return 'Next: leave masked values out of the new text; ask the user to write the value itself.';
  if (refusal.code === 'PLACEHOLDER_CONTENT')
    return `Next: send the full text, or change only the affected lines with ${tools.edit}.`;
  if (refusal.code === 'REDACTED_READ' && refusal.action !== 'overwrite')
    return 'Next: leave masked values out of the text to replace; ask the user to change the value itself.';
  if (refusal.code === 'TOO_LARGE') return 'Next: replace less text in one call.';
  return `Next: change only the affected lines with ${tools.edit}, which needs no full read.`;
}

function fixArgument(refusal: Refusal, tools: ToolNames): string {
  if (refusal.code === 'REVISION_MISMATCH')
    return 'Next: repeat the call without a revision to create it again.';
  const { recursive, path } = tools.arguments;
  const isFolder =
    refusal.code === 'INVALID_ARGUMENT' &&
    refusal.action === 'delete' &&
    refusal.detail?.kind === 'directory';
  if (!isFolder || recursive === undefined || tools.delete === undefined)
    return 'Next: correct the argument and repeat the call.';
  const call = callOf(tools, 'delete', { [path]: pathOf(refusal), [recursive]: true });
  return tools.list === undefined ? `Next: ${call}` : `Next: ${tools.list} it in full, then ${call}`;
}

function askHuman({ code, action, path, detail }: Refusal): string {
  const none = 'There is no way around this with these tools: ask the user';
  if (code === 'READ_ONLY' && detail?.cause !== 'session' && detail?.cause !== 'root')
    return `${none} to make the file writable.`;
  if (code === 'PROTECTED' && detail?.cause === 'approval')
    return `Next: ask the user to run \`lookfirst allow ${shellPath(path)} --once\`, then repeat the call.`;
  if (code === 'PROTECTED' && detail?.cause === 'declined')
    return 'Next: ask the user what to do instead; do not repeat the call.';
  if (code === 'WOULD_DESTROY')
    return 'Next: leave these out of the command, or ask the user to run it; repeating does not help.';
  if (code === 'NO_SANDBOX') return `${none} to make commands possible here.`;
  if (code === 'TOO_LARGE' && action === 'commit' && detail?.limitBytes !== undefined)
    return `${none} to raise commands.fileBytes in the policy.`;
  if (code === 'TOO_LARGE' && action !== 'commit' && action !== 'delete') return `${none} to change it.`;
  return `${none}.`;
}
