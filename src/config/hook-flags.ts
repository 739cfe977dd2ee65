import { PRESET_NAMES, type PresetName } from '../model/policy.ts';
import { choice, type FlagsOf, several, text, toggle } from './flags.ts';

/** The programs whose hooks call Lookfirst. */
export const HOST_NAMES = [
  'claude-code',
  'codex',
  'gemini',
  'cursor',
  'vscode',
  'opencode',
  'generic',
] as const;
export type HostName = (typeof HOST_NAMES)[number];

interface HookArguments {
  readonly client?: HostName;
}

interface HookOptions {
  readonly event?: string;
  readonly root?: readonly string[];
  readonly session?: string;
  readonly failOpen?: boolean;
  readonly preset?: PresetName;
  readonly policy?: string;
  readonly store?: string;
  readonly resident?: boolean;
}

/**
 * The words of `lookfirst hook`. They lie apart from the other commands, because a client waits for
 * the answer.
 */
export const HOOK_SHAPE: { readonly args: FlagsOf<HookArguments>; readonly flags: FlagsOf<HookOptions> } = {
  args: { client: choice('CLIENT', 'the client', HOST_NAMES) },
  flags: {
    event: text('NAME', 'the event, as the client names it'),
    root: several('DIR', "the workspace (repeatable; default: the client's project folder)"),
    session: text('ID', "use this session instead of the client's"),
    failOpen: toggle('let calls through when Lookfirst itself fails (default: deny changes and commands)'),
    preset: choice('NAME', 'start from this preset', PRESET_NAMES),
    policy: text('FILE', 'policy file (default: lookfirst.json in the state folder)'),
    store: text('URL', 'memory:, sqlite:/absolute/file.db or postgres://… (LOOKFIRST_STORE)'),
    resident: { ...toggle('become the process that answers later calls'), isHidden: true },
  },
};

/** The command line of one hook call as values. */
export type HookValues = HookArguments & HookOptions;
