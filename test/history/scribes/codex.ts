import { Calls, editOf, ownArguments, ownText, plainText, type Scribe, type ScribeKind } from '../scribe.ts';
import { type CallStep, FILE_LINES, type ResultStep, ROOT, type Step, textOf } from '../step.ts';

/**
 * Writes conversations as a session log of Codex (a rollout). Reads are shell commands, and every
 * call begins a turn.
 */
export const CODEX: ScribeKind = { format: 'codex', name: 'codex', open: () => new CodexScribe() };

class CodexScribe implements Scribe {
  readonly #calls = new Calls();
  #items: { readonly id: string; readonly record: object }[] = [];
  #turns: string[] = [];

  write(step: Step): readonly object[] | undefined {
    switch (step.do) {
      case 'call':
        this.#calls.note(step);
        this.#turns.push(step.id);
        return [line('event_msg', { type: 'task_started' }), this.#item(step.id, callItem(step))];
      case 'result':
        return this.#result(step);
      case 'compact': {
        const kept = this.#items.filter(({ id }) => (step.keep ?? []).includes(id));
        const replacement_history = kept.map(({ record }) => record);
        return [line('compacted', { message: 'We looked at files.', replacement_history })];
      }
      case 'rewind': {
        const at = this.#turns.indexOf(step.before);
        if (at === -1) return [];
        const num_turns = this.#turns.length - at;
        this.#turns = this.#turns.slice(0, at);
        return [line('event_msg', { type: 'thread_rolled_back', num_turns })];
      }
      case 'enter':
        return [line('turn_context', { cwd: step.directory })];
      default:
        return undefined;
    }
  }

  #item(id: string, record: object): object {
    this.#items.push({ id, record });
    return line('response_item', record);
  }

  #result(step: ResultStep): readonly object[] | undefined {
    const call = this.#calls.get(step.id);
    // Codex never clears a result.
    if (step.is === 'blank') return undefined;
    if (call?.tool === 'read' && call.own === true) return [this.#output(step, ownText(this.#calls, step))];
    if (call?.tool === 'write' || call?.tool === 'edit') return [changed(call, step.is ?? 'ok')];
    const shown = this.#calls.shown(step);
    const text = shown === undefined ? '' : textOf(shown.path, shown.lines);
    const output = header(step.is) + (step.is === 'error' ? 'cat: No such file or directory\n' : text);
    return [this.#output(step, output)];
  }

  #output({ id }: ResultStep, output: string): object {
    return this.#item(id, { type: 'function_call_output', call_id: id, output });
  }
}

function header(is: ResultStep['is']): string {
  if (is === 'denied') return 'exec_command failed: rejected by user\n';
  const exit = is === 'error' ? 1 : 0;
  return `Chunk ID: 4df638\nWall time: 0.0000 seconds\nProcess exited with code ${exit}\nOriginal token count: 6\nOutput:\n`;
}

function line(type: string, payload: object): object {
  return { timestamp: '2026-01-02T03:04:05.678Z', type, payload };
}

function callItem(call: CallStep): object {
  if (call.tool === 'write' || call.tool === 'edit')
    return { type: 'custom_tool_call', call_id: call.id, name: 'apply_patch', input: patchOf(call) };
  const made = { type: 'function_call', call_id: call.id };
  if (call.tool === 'read' && call.own === true) {
    const { name, args } = ownArguments(call);
    return { ...made, name: `mcp__lookfirst__${name}`, arguments: JSON.stringify(args) };
  }
  const cmd = call.tool === 'read' ? commandOf(call.path, call.lines) : call.command;
  return { ...made, name: 'exec_command', arguments: JSON.stringify({ cmd }) };
}

function commandOf(path: string, lines: readonly [number, number] | undefined): string {
  return lines === undefined ? `cat ${path}` : `sed -n '${lines[0]},${lines[1]}p' ${path}`;
}

function patchOf(call: CallStep & { readonly path: string }): string {
  if (call.tool === 'write') {
    const added = call.content.replace(/\n$/, '').replaceAll(/^/gm, '+');
    return `*** Begin Patch\n*** Add File: ${call.path}\n${added}\n*** End Patch\n`;
  }
  const { old_string, new_string } = editOf(call.path);
  return `*** Begin Patch\n*** Update File: ${call.path}\n@@\n-${old_string}\n+${new_string}\n*** End Patch\n`;
}

/** The record that Codex writes after a patch: its changes, and whether it was applied. */
function changed(call: CallStep, is: NonNullable<ResultStep['is']>): object {
  const status = is === 'ok' ? 'completed' : 'failed';
  const item = { type: 'FileChange', id: call.id, changes: changesOf(call), status };
  return line('event_msg', { type: 'item_completed', item });
}

function changesOf(call: CallStep): object {
  if (call.tool !== 'write' && call.tool !== 'edit') return {};
  const path = call.path.startsWith('/') ? call.path : `${ROOT}/${call.path}`;
  if (call.tool === 'write') return { [path]: { type: 'add', content: call.content } };
  const { old_string, new_string } = editOf(path);
  const [first, , third] = plainText(path, [1, FILE_LINES]).split('\n');
  const unified_diff = `@@ -1,3 +1,3 @@\n ${first}\n-${old_string}\n+${new_string}\n ${third}\n`;
  return { [path]: { type: 'update', unified_diff, move_path: null } };
}
