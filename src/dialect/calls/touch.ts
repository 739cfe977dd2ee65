import type { HostIntent } from '../../model/intent.ts';
import type { ShownForm } from './table.ts';

/** One effect of a tool call. Paths are as the caller wrote them. */
export type Touch =
  /** Accesses a path inside the workspace, but shows no content that counts as seen. */
  | { readonly does: 'look'; readonly path: string }
  /** Shows every entry of a folder. */
  | { readonly does: 'list'; readonly path: string }
  | {
      readonly does: 'read';
      readonly path: string;
      /** The requested lines; undefined for the whole file. */
      readonly asked: readonly AskedLines[] | undefined;
      readonly shown: ShownForm;
    }
  /** Shows lines of the files below `path`, by default below the working directory. */
  | { readonly does: 'search'; readonly path: string | undefined }
  | { readonly does: 'change'; readonly intent: HostIntent }
  | RunTouch
  /** May change something that no other effect describes, for example the server's own data. */
  | { readonly does: 'unknown' };

/** A shell command. */
export interface RunTouch {
  readonly does: 'run';
  /** The shell line. The words of a command that was given as a list are quoted where necessary. */
  readonly command: string;
  /** The start folder, if the call names one. */
  readonly folder?: string;
  /** True if the answer arrives before the command has ended. */
  readonly background?: true;
  /** True if the call's arguments have no known form, so that its command is unknown. */
  readonly unclear?: true;
}

/** Requested lines. Negative numbers count from the end (-1 is the last line); an undefined `to` means to the end. */
export interface AskedLines {
  readonly from: number;
  readonly to: number | undefined;
}

export type ReadTouch = Extract<Touch, { readonly does: 'read' }>;

/** Every path that one effect of a call names. */
export function pathsOfTouch(touch: Touch): readonly string[] {
  switch (touch.does) {
    case 'look':
    case 'list':
    case 'read':
      return [touch.path];
    case 'search':
      return touch.path === undefined ? [] : [touch.path];
    case 'change':
      return touch.intent.kind === 'move'
        ? [touch.intent.source, touch.intent.destination]
        : [touch.intent.path];
    case 'run':
    case 'unknown':
      return [];
    default:
      return touch satisfies never;
  }
}

/**
 * The paths that a call accesses without showing a file's content. They are journalled, but the
 * files do not count as seen.
 */
export function looksOf(touches: readonly Touch[]): string[] {
  return touches.flatMap((touch) => {
    if (touch.does === 'look') return [touch.path];
    return touch.does === 'search' ? [touch.path ?? '.'] : [];
  });
}
