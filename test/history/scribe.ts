import type { FormatName } from '../../src/model/transcript.ts';
import {
  type CallStep,
  FILE_LINES,
  type Lines,
  NOTE,
  numberedText,
  type ResultStep,
  type Step,
} from './step.ts';

/** Writes a conversation in the format of one agent program (host). */
export interface Scribe {
  /** The records of a step; undefined if the host has no such event. */
  write(step: Step): readonly object[] | undefined;
}

export interface ScribeKind {
  readonly format: FormatName;
  /** The name in test titles, different for each kind, even if several kinds write the same format. */
  readonly name: string;
  open(): Scribe;
}

/** The calls so far, by id. */
export class Calls {
  readonly #calls = new Map<string, CallStep>();

  note(step: CallStep): void {
    this.#calls.set(step.id, step);
  }

  get(id: string): CallStep | undefined {
    return this.#calls.get(id);
  }

  /**
   * The lines that a result shows, and their file. Taken from the result's `shows`; if that is
   * missing, from the call.
   */
  shown(step: ResultStep): { readonly path: string; readonly lines: Lines } | undefined {
    if (step.shows !== undefined) return step.shows;
    const call = this.get(step.id);
    if (call?.tool !== 'read') return undefined;
    const [from, to] = call.lines ?? [1, FILE_LINES];
    return { path: call.path, lines: [from, Math.min(to, FILE_LINES)] };
  }
}

/**
 * The text of a result of tools like our own. For a read: numbered lines, then the line that
 * describes the read (receipt).
 */
export function ownText(calls: Calls, step: ResultStep, pad = 0): string {
  if (step.is === 'blank') return NOTE;
  if (step.is === 'error') return 'cannot do that [NOT_FOUND]';
  const call = calls.get(step.id);
  const shown = calls.shown(step);
  if (shown === undefined) return changeText(call);
  if (call?.tool === 'shell') return plainText(shown.path, shown.lines);
  const receipt = step.receipt === undefined ? '' : `\n${step.receipt}`;
  return `${numberedText(shown.path, shown.lines, pad)}${receipt}`;
}

/** The output of a command; hosts remove the final newline. */
export function plainText(path: string, lines: Lines): string {
  return numberedText(path, lines).replaceAll(/^\d+\t/gm, '');
}

/** The answer of a tool that changed a file. */
export function changeText(call: CallStep | undefined): string {
  if (call?.tool === 'write') return `wrote ${call.content.length} bytes to ${call.path} (created)`;
  return call?.tool === 'edit' ? `replaced 1 occurrence(s) in ${call.path}` : 'done';
}

/** The tool name and arguments of a call, for tools like our own. */
export function ownArguments(call: CallStep): { readonly name: string; readonly args: object } {
  switch (call.tool) {
    case 'read': {
      const [offset, to] = call.lines ?? [];
      const paged = offset === undefined || to === undefined ? {} : { offset, limit: to - offset + 1 };
      return { name: 'read_file', args: { path: call.path, ...paged } };
    }
    case 'write':
      return { name: 'write_file', args: { path: call.path, content: call.content } };
    case 'edit':
      return { name: 'edit_file', args: { path: call.path, ...editOf(call.path) } };
    case 'shell':
      return { name: 'bash', args: { command: call.command } };
    default:
      return call satisfies never;
  }
}

/** The edit that every edit step makes: it changes the second line. */
export function editOf(path: string): { readonly old_string: string; readonly new_string: string } {
  const old_string = plainText(path, [2, 2]);
  return { old_string, new_string: `${old_string}, edited` };
}
