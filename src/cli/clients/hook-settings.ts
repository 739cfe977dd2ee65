import {
  type ClientName,
  type ClientPlaces,
  type ConfigScope,
  claudeDir,
  geminiHome,
  joined,
  xdgDir,
} from './client.ts';
import type { ConfigTable, ConfigValue } from './config-value.ts';

/** The files in the state folder that hooks run. */
export interface HookFiles {
  /** The script that answers one hook call. */
  readonly script: string;
  /** The plugin for opencode. */
  readonly plugin: string;
  /** The program that Claude Code puts before each of its shell commands. */
  readonly shell: string;
}

/**
 * A piece of JSON that `init --hooks` adds to a client's settings: a hook, a denied tool or another
 * setting.
 */
export interface HookPiece {
  /** The keys that lead to the list or value in the settings file where the piece belongs. */
  readonly at: readonly string[];
  /** `item` (default): an item of a list. `member`: the value of a key; a value that the user has set is kept. */
  readonly kind?: 'item' | 'member';
  /** True if `init` must refuse when the user has set another value at this place. */
  readonly needed?: true;
  readonly item: ConfigValue;
}

/** A client's settings file for hooks, and the pieces that `init --hooks` adds to it. */
export interface ClientHooks {
  readonly defaultScope: ConfigScope;
  file(scope: ConfigScope, places: ClientPlaces): string;
  /** True if the project's file is for one user by the client's own rules. */
  readonly isPersonal?: true;
  /** Members that must be at the beginning of a settings file that `init` creates. */
  readonly header?: ConfigTable;
  pieces(files: HookFiles): readonly HookPiece[];
  /** The piece that makes the client's shell run on a layer (a copy-on-write view of the workspace). */
  shell?(files: HookFiles): HookPiece;
  /** Pieces for `--only`: they deny the client's own edit tools. */
  readonly only?: readonly HookPiece[];
  /** The next step for the user. */
  readonly next: string;
}

const TIMEOUT_S = 10;

/** The events of a client in which our hook runs. */
interface HookEvents {
  /** The event before a call, and the tools that change files or run commands. */
  readonly before: readonly [event: string, tools: string | undefined];
  /** The events after a call, and the tools whose results are noted. */
  readonly after: readonly [events: readonly string[], tools: string | undefined];
  /** Events that concern no tool. */
  readonly others: readonly string[];
}

/** A piece for each event, in the client's form. */
function piecesFor(
  { before, after, others }: HookEvents,
  itemOf: (event: string, tools: string | undefined) => ConfigValue,
): readonly HookPiece[] {
  const events = [before, ...after[0].map((event) => [event, after[1]] as const)];
  return [...events, ...others.map((event) => [event, undefined] as const)].map(([event, tools]) => ({
    at: ['hooks', event],
    item: itemOf(event, tools),
  }));
}

/** The form of Claude Code, Codex and Gemini: a hook in a list, with the tools that it is for. */
function matched(tools: string | undefined, hook: ConfigTable): ConfigTable {
  return tools === undefined ? { hooks: [hook] } : { matcher: tools, hooks: [hook] };
}

/**
 * Hook arguments for calls to our own server. If the hook fails, the call is still made, because
 * the server itself judges it.
 */
const OWN_CALL_ARGS = ['claude-code', '--event', 'PreToolUse', '--fail-open'];

const CLAUDE_CODE: ClientHooks = {
  defaultScope: 'project',
  file: (scope, places) =>
    scope === 'user'
      ? joined(places, claudeDir(places), 'settings.json')
      : joined(places, places.project, '.claude', 'settings.local.json'),
  isPersonal: true,
  pieces: ({ script }) => {
    // Uses separate arguments, because Claude Code would repeat a whole shell line in its errors.
    const hook = (event: string, more: ConfigTable = {}): ConfigTable => ({
      type: 'command',
      command: script,
      args: ['claude-code', '--event', event],
      timeout: TIMEOUT_S,
      ...more,
    });
    const tools = 'Edit|MultiEdit|Write|NotebookEdit|Bash';
    const events: HookEvents = {
      before: ['PreToolUse', tools],
      after: [['PostToolUse', 'PostToolUseFailure'], `Read|Grep|${tools}|mcp__lookfirst__.*`],
      others: [
        ...['UserPromptSubmit', 'SessionStart', 'SessionEnd', 'PostCompact'],
        ...['SubagentStart', 'SubagentStop', 'Stop'],
      ],
    };
    const [before, ...rest] = piecesFor(events, (event, matcher) =>
      matched(matcher, hook(event, event === 'PreToolUse' ? { onFailure: 'block' } : {})),
    );
    // This hook reports which sub-agent calls our own server. It is a separate entry, because its failure must not
    // block the call.
    const own = matched('mcp__lookfirst__.*', hook('PreToolUse', { args: OWN_CALL_ARGS }));
    return [...(before === undefined ? [] : [before]), { at: ['hooks', 'PreToolUse'], item: own }, ...rest];
  },
  shell: ({ shell }) => ({ at: ['env', 'CLAUDE_CODE_SHELL_PREFIX'], kind: 'member', item: shell }),
  // Deny the client's edit tools, and approve our server and its tools: a run without a terminal
  // cannot ask the user for approval.
  only: [
    ...['Edit', 'MultiEdit', 'Write', 'NotebookEdit'].map((tool) => ({
      at: ['permissions', 'deny'],
      item: tool,
    })),
    { at: ['permissions', 'allow'], item: 'mcp__lookfirst' },
    { at: ['enabledMcpjsonServers'], item: 'lookfirst' },
  ],
  next: 'Start Claude Code again in the project and trust the folder; /hooks shows the entries.',
};

/**
 * A shell line that runs a hook and turns every failure into exit code 2, which denies the call.
 * With other codes, such as 127 for a missing script, Codex and Gemini would let the call run.
 */
function failClosed(script: string, client: ClientName, event: string): string {
  const reason = `Lookfirst did not answer. Ask the user to run: lookfirst remove ${client}`;
  return `"${script}" ${client} --event ${event}; r=$?; [ $r = 0 ] || [ $r = 2 ] || { echo "${reason}" >&2; exit 2; }; exit $r`;
}

function failOpen(script: string, client: ClientName, event: string): string {
  return `"${script}" ${client} --event ${event}`;
}

/**
 * The time limit of Codex's `SessionEnd` hook in seconds. Codex prints a warning about a longer
 * one.
 */
const CODEX_END_S = 3;

const CODEX: ClientHooks = {
  defaultScope: 'user',
  file: (scope, places) =>
    scope === 'user'
      ? joined(places, places.env['CODEX_HOME'] || joined(places, places.home, '.codex'), 'hooks.json')
      : joined(places, places.project, '.codex', 'hooks.json'),
  pieces: ({ script }) => {
    const tools = 'apply_patch|Bash|shell|exec_command|write_stdin';
    const events: HookEvents = {
      before: ['PreToolUse', tools],
      after: [['PostToolUse'], tools],
      others: ['UserPromptSubmit', 'SessionStart', 'SessionEnd', 'PostCompact', 'Stop'],
    };
    return piecesFor(events, (event, matcher) => {
      const line = event === 'PreToolUse' ? failClosed : failOpen;
      const timeout = event === 'SessionEnd' ? CODEX_END_S : TIMEOUT_S;
      return matched(matcher, { type: 'command', command: line(script, 'codex', event), timeout });
    });
  },
  next: 'Start Codex again and trust the hooks in /hooks: untrusted hooks are skipped silently.',
};

const GEMINI: ClientHooks = {
  defaultScope: 'project',
  file: (scope, places) =>
    joined(places, scope === 'user' ? geminiHome(places) : places.project, '.gemini', 'settings.json'),
  pieces: ({ script }) => {
    const tools = 'write_file|replace|run_shell_command';
    const reads = 'read_file|read_many_files|grep_search|search_file_content';
    const events: HookEvents = {
      before: ['BeforeTool', tools],
      after: [['AfterTool'], `${reads}|${tools}`],
      others: ['BeforeAgent', 'AfterAgent', 'SessionStart', 'SessionEnd'],
    };
    return piecesFor(events, (event, matcher) => {
      const line = event === 'BeforeTool' ? failClosed : failOpen;
      const command = line(script, 'gemini', event);
      // Gemini's timeouts are in milliseconds.
      return matched(matcher, { type: 'command', name: 'lookfirst', command, timeout: TIMEOUT_S * 1000 });
    });
  },
  only: ['write_file', 'replace'].map((tool) => ({ at: ['tools', 'exclude'], item: tool })),
  next: 'Start Gemini CLI again and trust the folder; /hooks shows the entries.',
};

const CURSOR: ClientHooks = {
  defaultScope: 'project',
  file: (scope, places) =>
    joined(places, scope === 'user' ? places.home : places.project, '.cursor', 'hooks.json'),
  header: { version: 1 },
  pieces: ({ script }) => {
    const tools = 'Write|StrReplace|Edit|MultiEdit|EditNotebook|ApplyPatch|Delete|Shell';
    const events: HookEvents = {
      before: ['preToolUse', tools],
      after: [['postToolUse', 'postToolUseFailure'], `Read|${tools}`],
      others: [
        ...['beforeReadFile', 'beforeSubmitPrompt', 'sessionStart', 'sessionEnd', 'preCompact', 'stop'],
      ],
    };
    return piecesFor(events, (event, matcher) => ({
      command: failOpen(script, 'cursor', event),
      timeout: TIMEOUT_S,
      ...(matcher === undefined ? {} : { matcher }),
      ...(event === 'preToolUse' ? { failClosed: true } : {}),
    }));
  },
  next: 'Open the project in Cursor again; Settings > Hooks shows the entries.',
};

const VSCODE: ClientHooks = {
  defaultScope: 'project',
  file: (scope, places) =>
    scope === 'user'
      ? joined(places, places.home, '.copilot', 'hooks', 'lookfirst.json')
      : joined(places, places.project, '.github', 'hooks', 'lookfirst.json'),
  pieces: ({ script }) => {
    const events: HookEvents = {
      before: ['PreToolUse', undefined],
      after: [['PostToolUse'], undefined],
      others: ['UserPromptSubmit', 'SessionStart', 'PreCompact', 'Stop'],
    };
    return piecesFor(events, (event) => {
      const line = event === 'PreToolUse' ? failClosed : failOpen;
      return { type: 'command', command: line(script, 'vscode', event), timeout: TIMEOUT_S };
    });
  },
  next: 'Reload the VS Code window; the agent view lists the hooks.',
};

const OPENCODE: ClientHooks = {
  defaultScope: 'project',
  file: (scope, places) =>
    scope === 'user'
      ? joined(places, xdgDir(places), 'opencode', 'opencode.json')
      : joined(places, places.project, 'opencode.json'),
  pieces: ({ plugin }) => [{ at: ['plugin'], item: `file://${plugin}` }],
  // This permission covers opencode's edit, write and patch tools.
  only: [{ at: ['permission', 'edit'], kind: 'member', needed: true, item: 'deny' }],
  next: 'Start opencode again.',
};

/**
 * For each client that has hooks: its settings file, and the pieces that `init --hooks` adds to it.
 */
export const HOOK_SETTINGS: Readonly<Partial<Record<ClientName, ClientHooks>>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI,
  cursor: CURSOR,
  vscode: VSCODE,
  opencode: OPENCODE,
};
