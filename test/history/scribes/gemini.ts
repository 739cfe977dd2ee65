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
import { type CallStep, FILE_LINES, NOTE, type ResultStep, type Step, textOf } from '../step.ts';

/**
 * Writes conversations as a chat of Gemini CLI: each call is a message, which is written again with
 * its result.
 */
export const GEMINI: ScribeKind = { format: 'gemini', name: 'gemini', open: () => new GeminiScribe() };

class GeminiScribe implements Scribe {
  readonly #calls = new Calls();
  readonly #answered = new Set<CallStep>();
  #messages = new Map<string, object>();

  write(step: Step): readonly object[] | undefined {
    switch (step.do) {
      case 'call':
        this.#calls.note(step);
        return this.#put(step.id, message(step, { status: 'executing' }));
      case 'result': {
        const call = this.#calls.get(step.id);
        // Write no record for a second result of a call, because Gemini CLI records only one.
        if (call === undefined || this.#answered.has(call)) return undefined;
        this.#answered.add(call);
        return this.#put(step.id, message(call, this.#result(call, step)));
      }
      case 'blank': {
        const call = this.#calls.get(step.id);
        if (call === undefined) return undefined;
        return this.#put(
          step.id,
          message(call, this.#result(call, { do: 'result', id: step.id, is: 'blank' })),
        );
      }
      case 'compact': {
        const kept = (step.keep ?? []).flatMap((id) => this.#messages.get(id) ?? []);
        return [{ $set: { messages: [{ id: 'summary', type: 'user', content: 'Summary' }, ...kept] } }];
      }
      case 'rewind':
        return [{ $rewindTo: `m-${step.before}` }];
      default:
        return undefined;
    }
  }

  #put(id: string, record: object): readonly object[] {
    this.#messages.set(id, record);
    return [record];
  }

  #result(call: CallStep, step: ResultStep): object {
    const response =
      step.is === 'error' || step.is === 'denied'
        ? { error: 'File not found' }
        : { output: step.is === 'blank' ? NOTE : this.#output(call, step) };
    const status = { ok: 'success', blank: 'success', error: 'error', denied: 'cancelled' }[step.is ?? 'ok'];
    const result = [{ functionResponse: { id: step.id, name: 'tool', response } }];
    return { status, result, ...(call.tool === 'edit' ? { resultDisplay: bothSides(call.path) } : {}) };
  }

  #output(call: CallStep, step: ResultStep): string {
    const shown = this.#calls.shown(step);
    if (shown === undefined) return changeText(call);
    const { path, lines } = shown;
    if (call.tool === 'shell') return `Output: ${plainText(path, lines)}\nProcess Group PGID: 1`;
    if (call.tool === 'read' && call.own === true) return ownText(this.#calls, step);
    if (lines[0] === 1 && lines[1] >= FILE_LINES) return textOf(path, lines);
    // Gemini's total includes the empty line after the final newline.
    const head = `\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines ${lines[0]}-${lines[1]} of ${FILE_LINES + 1} total lines.\nAction: …\n`;
    return `${head}\n--- FILE CONTENT (truncated) ---\n${plainText(path, lines)}`;
  }
}

function message(call: CallStep, more: object): object {
  const toolCall = { id: call.id, ...toolOf(call), ...more };
  return { id: `m-${call.id}`, type: 'gemini', content: '', toolCalls: [toolCall] };
}

function toolOf(call: CallStep): { readonly name: string; readonly args: object } {
  switch (call.tool) {
    case 'read': {
      if (call.own === true) return { ...ownArguments(call), name: 'lookfirst__read_file' };
      const [start_line, end_line] = call.lines ?? [];
      const ranged = start_line === undefined ? {} : { start_line, end_line };
      return { name: 'read_file', args: { file_path: call.path, ...ranged } };
    }
    case 'write':
      return { name: 'write_file', args: { file_path: call.path, content: call.content } };
    case 'edit':
      return { name: 'replace', args: { file_path: call.path, ...editOf(call.path) } };
    case 'shell':
      return { name: 'run_shell_command', args: { command: call.command } };
    default:
      return call satisfies never;
  }
}

function bothSides(path: string): object {
  const originalContent = textOf(path, [1, FILE_LINES]);
  const { old_string, new_string } = editOf(path);
  return { originalContent, newContent: originalContent.replace(old_string, new_string) };
}
