import type { Client, ClientPlaces, ConfigScope } from './client.ts';
import type { FormerFiles } from './former.ts';
import type { HookFiles } from './hook-settings.ts';
import type { Starter } from './launch.ts';
import type { Sharing } from './personal-files.ts';

export interface ConfigureRequest {
  readonly action: 'init' | 'remove';
  readonly client: Client;
  readonly places: ClientPlaces;
  /** The full path of the folder that our server serves, or whose files our proxy guards. */
  readonly dir: string;
  /**
   * Selects the user's file or the project's file. Default for `init`: the client's default scope.
   * Default for `remove` and `proxy`: the scope in which the entry is found.
   */
  readonly scope?: ConfigScope;
  /**
   * The name of a server in the client's configuration. If given, `init` puts our proxy before this
   * server and does not add our own server. `remove` then removes only that proxy.
   */
  readonly proxy?: string;
  /** The files that hooks run. */
  readonly files: HookFiles;
  /** If given, `init` also adds hooks to the client's settings. `remove` always removes them. */
  readonly hooks?: HookRequest;
  readonly dryRun: boolean;
  /** The command with which the client starts our server; default: npx. */
  readonly starter?: Starter;
  /** Keeps the former contents of the files for a later `remove`. */
  readonly former: FormerFiles;
  /** How the project's files are shared. If absent, git is not asked and nothing is excluded. */
  readonly sharing?: Sharing;
}

/** The hooks to add to the client's settings besides our server. */
export interface HookRequest {
  /** True to add hooks that check every call of the client's own tools. */
  readonly gate: boolean;
  /** True to also deny the client's own edit tools. */
  readonly only: boolean;
  /**
   * `layer`: the client's shell runs on a layer (a copy-on-write view of the workspace), if the
   * client has a setting for it. `images`: hooks compare the files before and after each command.
   */
  readonly shell: 'layer' | 'images';
}

/** The change of one configuration file. In a dry run, the file was not changed. */
export type ConfigureReport =
  | {
      readonly ok: true;
      readonly file: string;
      readonly did: 'create' | 'change' | 'delete' | 'nothing';
      /** A unified diff; empty if nothing changes. */
      readonly diff: string;
      /** The user's next step after `init`; empty after `remove`. */
      readonly next: string;
      /** What the user should know about the change; absent if there is nothing to add. */
      readonly note?: string;
    }
  /** `file`: the file that cannot be edited. Absent if no file is the cause. */
  | {
      readonly ok: false;
      readonly file?: string;
      readonly reason: string;
      readonly line?: number;
      /** The lines that the user can add by hand instead. */
      readonly byHand?: string;
    };
