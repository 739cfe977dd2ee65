import {
  Calls,
  changeText,
  editOf,
  ownArguments,
  ownText,
  plainText,
  type Scribe,
  type ScribeKind,
} from '../scribe.ts';
import {
  type CallStep,
  FILE_LINES,
  NOTE,
  numberedText,
  type ResultStep,
  ROOT,
  type Step,
  textOf,
} from '../step.ts';

/** Writes conversations like the main transcript of Claude Code. */
export const CLAUDE_CODE: ScribeKind = {
  format: 'claude-code',
  name: 'claude-code',
  open: () => new ClaudeScribe('main'),
};

/**
 * Writes conversations like the transcript of a sub-agent of Claude Code. Its records contain only
 * the texts of results, no structured details.
 */
export const CLAUDE_AGENT: ScribeKind = {
  format: 'claude-code',
  name: 'claude-code sub-agent',
  open: () => new ClaudeScribe('agent'),
};

class ClaudeScribe implements Scribe {
  readonly #calls = new Calls();
  readonly #agent: boolean;
  /**
   * `#results` maps the id of a call to the id of its result's record. `#before` maps it to the id
   * of the last record before the call.
   */
  readonly #results = new Map<string, string>();
  readonly #before = new Map<string, string | null>();
  #tip: string | null = null;
  #count = 0;
  #directory = ROOT;

  constructor(kind: 'main' | 'agent') {
    this.#agent = kind === 'agent';
  }

  write(step: Step): readonly object[] | undefined {
    switch (step.do) {
      case 'call':
        this.#calls.note(step);
        this.#before.set(step.id, this.#tip);
        return [this.#call(step)];
      case 'result':
        return [this.#result(step)];
      case 'compact':
        return this.#compact((step.keep ?? []).flatMap((id) => this.#results.get(id) ?? []));
      case 'rewind':
        this.#tip = this.#before.get(step.before) ?? null;
        return [this.#record({ type: 'user', message: { role: 'user', content: 'Once more.' } })];
      case 'blank': {
        const replacements = [{ kind: 'tool-result', toolUseId: step.id, replacement: NOTE }];
        return [{ type: 'content-replacement', sessionId: 's', replacements }];
      }
      case 'enter':
        this.#directory = step.directory;
        return [];
      default:
        return undefined;
    }
  }

  #call(call: CallStep): object {
    const content = [{ type: 'tool_use', id: call.id, ...toolOf(call) }];
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: 'tool_use' };
    return this.#record({ message, type: 'assistant' });
  }

  #result(step: ResultStep): object {
    const call = this.#calls.get(step.id);
    const failed = step.is === 'error' || step.is === 'denied';
    const block = { tool_use_id: step.id, type: 'tool_result', content: this.#text(call, step) };
    const content = [failed ? { ...block, is_error: true } : block];
    const detail = failed || step.is === 'blank' ? 'Error: no' : this.#detail(call, step);
    const kept = this.#agent || detail === undefined ? {} : { toolUseResult: detail };
    const record = this.#record({ type: 'user', message: { role: 'user', content } }, kept);
    if (this.#tip !== null) this.#results.set(step.id, this.#tip);
    return record;
  }

  /**
   * The text of a result. Claude Code shows a whole file with the empty line after its final
   * newline.
   */
  #text(call: CallStep | undefined, step: ResultStep): string {
    if (step.is === 'blank') return NOTE;
    if (step.is === 'error' || step.is === 'denied') return 'File does not exist.';
    const shown = this.#calls.shown(step);
    if (shown === undefined) return changeText(call);
    const { path, lines } = shown;
    if (call?.tool === 'shell') return plainText(path, lines);
    if (isOwn(call)) return ownText(this.#calls, step);
    return numberedText(path, lines) + (reachesEnd(call, step) ? `\n${FILE_LINES + 1}\t` : '');
  }

  #detail(call: CallStep | undefined, step: ResultStep): object | undefined {
    if (call === undefined) return undefined;
    switch (call.tool) {
      case 'read':
        return isOwn(call) ? { content: this.#text(call, step) } : this.#page(call, step);
      case 'edit': {
        const { old_string: oldString, new_string: newString } = editOf(call.path);
        const originalFile = textOf(call.path, [1, FILE_LINES]);
        const structuredPatch = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: [] }];
        const edited = { filePath: call.path, oldString, newString, originalFile, structuredPatch };
        return { ...edited, userModified: false, replaceAll: false };
      }
      case 'write':
        return { type: 'create', filePath: call.path, content: call.content, structuredPatch: [] };
      case 'shell':
        return { stdout: this.#text(call, step), stderr: '', interrupted: false, isImage: false };
      default:
        return call satisfies never;
    }
  }

  #page(call: CallStep, step: ResultStep): object | undefined {
    const shown = this.#calls.shown(step);
    if (shown === undefined) return undefined;
    const { path, lines } = shown;
    const end = reachesEnd(call, step);
    const content = textOf(path, lines).replace(/\n$/, end ? '\n' : '');
    const numLines = lines[1] - lines[0] + (end ? 2 : 1);
    const file = { filePath: path, content, numLines, startLine: lines[0], totalLines: FILE_LINES + 1 };
    return { type: 'text', file };
  }

  #compact(uuids: readonly string[]): readonly object[] {
    const logicalParentUuid = this.#tip;
    this.#tip = null;
    const preservedMessages = { anchorUuid: 'none', uuids, allUuids: uuids };
    const compactMetadata = { trigger: 'auto', preTokens: 1, preservedMessages };
    const boundary = { type: 'system', subtype: 'compact_boundary', logicalParentUuid, compactMetadata };
    const summary = { type: 'user', isCompactSummary: true, message: { role: 'user', content: 'Summary' } };
    return [this.#record(boundary), this.#record(summary)];
  }

  /** A record with its keys in the order in which Claude Code writes them. */
  #record(fields: object, after: object = {}): object {
    this.#count += 1;
    const uuid = `${this.#count.toString(16).padStart(8, '0')}-0000-4000-8000-${'0'.repeat(12)}`;
    const parentUuid = this.#tip;
    this.#tip = uuid;
    return {
      parentUuid,
      isSidechain: this.#agent,
      ...(this.#agent ? { agentId: 'a1' } : {}),
      ...fields,
      uuid,
      timestamp: '2026-01-02T03:04:05.678Z',
      ...after,
      userType: 'external',
      cwd: this.#directory,
      sessionId: 's',
      version: '2.1.325',
    };
  }
}

function isOwn(call: CallStep | undefined): boolean {
  return call?.tool === 'read' && call.own === true;
}

/**
 * True if the result shows the file to its end and the call does not request fewer lines. Claude
 * Code then also shows the empty line after the final newline.
 */
function reachesEnd(call: CallStep | undefined, step: ResultStep): boolean {
  const asked = call?.tool === 'read' ? call.lines?.[1] : undefined;
  return (asked ?? FILE_LINES + 1) > FILE_LINES && (step.shows?.lines[1] ?? FILE_LINES) >= FILE_LINES;
}

function toolOf(call: CallStep): { readonly name: string; readonly input: object } {
  switch (call.tool) {
    case 'read': {
      const { args } = ownArguments(call);
      if (isOwn(call)) return { name: 'mcp__lookfirst__read_file', input: args };
      return { name: 'Read', input: { ...args, file_path: call.path } };
    }
    case 'write':
      return { name: 'Write', input: { file_path: call.path, content: call.content } };
    case 'edit':
      return { name: 'Edit', input: { file_path: call.path, ...editOf(call.path) } };
    case 'shell':
      return { name: 'Bash', input: { command: call.command, description: 'Run' } };
    default:
      return call satisfies never;
  }
}
