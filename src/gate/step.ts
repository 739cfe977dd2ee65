import type { Conflict } from '../disk/replace.ts';
import type { Effect } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';

/** One allowed change, ready to run under the lock. */
export interface Step {
  readonly action: Action;
  readonly path: ResolvedPath;
  /** The planned effects, announced before any file is touched. Empty if nothing will change. */
  readonly effects: readonly Effect[];
  /** The file's bytes afterwards, if the step writes one file. */
  readonly bytes?: Uint8Array;
  /** The session's sighting of these bytes. */
  readonly seen?: Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages'> | undefined;
  /** Further result fields of an edit, as far as they are already known. */
  readonly more?: Pick<ChangeResult, 'replaced' | 'tier' | 'inserted' | 'diff'> | undefined;
  /** Notices known before the step runs. They are also part of the result. */
  readonly notices?: readonly Notice[];
  /** The result on a text file, with a bounded diff, for dry runs. */
  preview?(): Pick<ChangeResult, 'diff' | 'sizeBytes' | 'replaced' | 'inserted'>;
  /**
   * In a batch: writes new bytes to temporary files, so that the files of all steps are synced together before `run`.
   */
  stage?(): Promise<void>;
  /** Removes staged files that were not published. */
  unstage?(): void | Promise<void>;
  /** Changes the disk. After a conflict or a Fault nothing of this step remains, unless `isLeft` returns true. */
  run(): Promise<Done | Conflict>;
  /** After a conflict or a Fault: whether something could not be reverted, so that the change stays pending. */
  isLeft?(): boolean;
  /**
   * Reverts the step, because a later step failed or the change could not be recorded. Returns false if another program
   * has changed the file since.
   */
  revert(): Promise<boolean>;
  /** Releases held resources. */
  close(): void;
}

export interface Done {
  readonly ok: true;
  /** The real effects, if they differ from the announced ones. */
  readonly effects?: readonly Effect[];
  /** The key of a folder that should be removed but is still in use. */
  readonly stayed?: string;
  readonly result: Omit<ChangeResult, 'change'>;
  /** The session's sightings afterwards. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session knows to be gone. */
  readonly tombstones: readonly string[];
  /** Files that left the workspace, to be kept as before-images. */
  readonly displaced: readonly Displaced[];
}

export interface Displaced {
  /** Path outside the workspace. */
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  /** Its bytes, if they are in memory. */
  readonly bytes?: Uint8Array;
}
