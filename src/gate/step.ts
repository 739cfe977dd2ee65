import type { Conflict } from '../disk/replace.ts';
import type { Effect } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { ChangeResult, Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action } from '../model/verdict.ts';

/** One allowed change, ready to be carried out under the lock. */
export interface Step {
  readonly action: Action;
  readonly path: ResolvedPath;
  /** What it will do, for the journal; announced before anything is touched. Empty: nothing will change. */
  readonly effects: readonly Effect[];
  /** The file's bytes afterwards, if it writes one file. */
  readonly bytes?: Uint8Array;
  /** What the session will have seen of them. */
  readonly seen?: Pick<Sighting, 'coverage' | 'totalLines' | 'flags' | 'how' | 'pages'> | undefined;
  /** What an edit did besides, as far as it is known already. */
  readonly more?: Pick<ChangeResult, 'replaced' | 'tier' | 'inserted' | 'diff'> | undefined;
  /** What its caller is told already now; part of the result, too. */
  readonly notices?: readonly Notice[];
  /** What it will do to a text, with a bounded diff, for dry runs. */
  preview?(): Pick<ChangeResult, 'diff' | 'sizeBytes' | 'replaced' | 'inserted'>;
  /** In a batch: writes new bytes beside their place, so that those of all steps are synced together before `run`. */
  stage?(): Promise<void>;
  /** Removes what was staged and not published. */
  unstage?(): void | Promise<void>;
  /** Changes the disk. After a conflict or a Fault nothing of this step is left, unless `isLeft` says so. */
  run(): Promise<Done | Conflict>;
  /** After a conflict or a Fault: whether something could not be put back, so that the change is still to be settled. */
  isLeft?(): boolean;
  /** Takes it back, because a later step failed or nothing could be recorded; false if someone has changed it since. */
  revert(): Promise<boolean>;
  /** Releases what it holds. */
  close(): void;
}

export interface Done {
  readonly ok: true;
  /** What it did, as far as that is known better now than it was announced. */
  readonly effects?: readonly Effect[];
  /** The key of a folder that was to go and is still needed. */
  readonly stayed?: string;
  readonly result: Omit<ChangeResult, 'change'>;
  /** What the session knows afterwards. */
  readonly sightings: readonly Sighting[];
  /** Files of this session that are gone. */
  readonly tombstones: readonly string[];
  /** Files that left the workspace, to be kept as before-images. */
  readonly displaced: readonly Displaced[];
}

export interface Displaced {
  /** Where it is, outside the workspace. */
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
  /** Its bytes, where they are at hand. */
  readonly bytes?: Uint8Array;
}
