import {
  type ClientName,
  type ClientPath,
  type ClientPlaces,
  type ConfigScope,
  clientPath,
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

/** Makes the function `file` of a client from the paths of its files. */
function fileAt(paths: Readonly<Record<ConfigScope, ClientPath>>): ClientHooks['file'] {
  return (scope, places) => clientPath(places, paths[scope]);
}

const TIMEOUT_S = 10;

/** An event in which our hook runs, and the tools that it is for. An event alone concerns no tool. */
type HookEvent = string | readonly [event: string, tools: string];

/** A piece for each event, in the client's form. */
function piecesFor(
  events: readonly HookEvent[],
  itemOf: (event: string, tools: string | undefined) => ConfigValue,
): readonly HookPiece[] {
  return events.map((each) => {
    const [event, tools] = typeof each === 'string' ? [each, undefined] : each;
    return { at: ['hooks', event], item: itemOf(event, tools) };
  });
}

/** The form of Claude Code, Codex and Gemini: a hook in a list, with the tools that it is for. */
function matched(tools: string | undefined, hook: ConfigTable): ConfigTable {
  return tools === undefined ? { hooks: [hook] } : { matcher: tools, hooks: [hook] };
}

/**
 * Calls to our own server. Their hook reports which sub-agent makes the call. If it fails, the call is
 * still made, because the server itself judges it.
 */
const OWN_TOOLS = 'mcp__lookfirst__.*';

const CLAUDE_CODE: ClientHooks = {
  defaultScope: 'project',
  file: fileAt({ user: 'claude/settings.json', project: 'project/.claude/settings.local.json' }),
  isPersonal: true,
  pieces: ({ script: command }) => {
    const changing = 'Edit|MultiEdit|Write|NotebookEdit|Bash';
    const noted = `Read|Grep|${changing}|${OWN_TOOLS}`;
    const events: readonly HookEvent[] = [
      ['PreToolUse', changing],
      ['PreToolUse', OWN_TOOLS],
      ['PostToolUse', noted],
      ['PostToolUseFailure', noted],
      ...['UserPromptSubmit', 'SessionStart', 'SessionEnd', 'PostCompact'],
      ...['SubagentStart', 'SubagentStop', 'Stop'],
    ];
    return piecesFor(events, (event, tools) => {
      // Uses separate arguments, because Claude Code would repeat a whole shell line in its errors.
      const args = ['claude-code', '--event', event, ...(tools === OWN_TOOLS ? ['--fail-open'] : [])];
      const failure = tools === changing ? { onFailure: 'block' } : {};
      return matched(tools, { type: 'command', command, args, timeout: TIMEOUT_S, ...failure });
    });
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
 * The shell line that runs a hook. Before a call, it turns every failure into exit code 2, which denies
 * the call. With other codes, such as 127 for a missing script, these clients would let the call run.
 */
function hookLine(script: string, client: ClientName, event: string): string {
  const line = `"${script}" ${client} --event ${event}`;
  if (event !== 'PreToolUse' && event !== 'BeforeTool') return line;
  const reason = `Lookfirst did not answer. Ask the user to run: lookfirst remove ${client}`;
  return `${line}; r=$?; [ $r = 0 ] || [ $r = 2 ] || { echo "${reason}" >&2; exit 2; }; exit $r`;
}

/**
 * The time limit of Codex's `SessionEnd` hook in seconds. Codex prints a warning about a longer
 * one.
 */
const CODEX_END_S = 3;

const CODEX: ClientHooks = {
  defaultScope: 'user',
  file: fileAt({ user: 'codex/hooks.json', project: 'project/.codex/hooks.json' }),
  pieces: ({ script }) => {
    const tools = 'apply_patch|Bash|shell|exec_command|write_stdin';
    const events: readonly HookEvent[] = [
      ['PreToolUse', tools],
      ['PostToolUse', tools],
      ...['UserPromptSubmit', 'SessionStart', 'SessionEnd', 'PostCompact', 'Stop'],
    ];
    return piecesFor(events, (event, matcher) => {
      const timeout = event === 'SessionEnd' ? CODEX_END_S : TIMEOUT_S;
      return matched(matcher, { type: 'command', command: hookLine(script, 'codex', event), timeout });
    });
  },
  next: 'Start Codex again and trust the hooks in /hooks: untrusted hooks are skipped silently.',
};

const GEMINI: ClientHooks = {
  defaultScope: 'project',
  file: fileAt({ user: 'gemini/.gemini/settings.json', project: 'project/.gemini/settings.json' }),
  pieces: ({ script }) => {
    const tools = 'write_file|replace|run_shell_command';
    const reads = 'read_file|read_many_files|grep_search|search_file_content';
    const events: readonly HookEvent[] = [
      ['BeforeTool', tools],
      ['AfterTool', `${reads}|${tools}`],
      ...['BeforeAgent', 'AfterAgent', 'SessionStart', 'SessionEnd'],
    ];
    return piecesFor(events, (event, matcher) => {
      const command = hookLine(script, 'gemini', event);
      // Gemini's timeouts are in milliseconds.
      return matched(matcher, { type: 'command', name: 'lookfirst', command, timeout: TIMEOUT_S * 1000 });
    });
  },
  only: ['write_file', 'replace'].map((tool) => ({ at: ['tools', 'exclude'], item: tool })),
  next: 'Start Gemini CLI again and trust the folder; /hooks shows the entries.',
};

const CURSOR: ClientHooks = {
  defaultScope: 'project',
  file: fileAt({ user: 'home/.cursor/hooks.json', project: 'project/.cursor/hooks.json' }),
  header: { version: 1 },
  pieces: ({ script }) => {
    const tools = 'Write|StrReplace|Edit|MultiEdit|EditNotebook|ApplyPatch|Delete|Shell';
    const events: readonly HookEvent[] = [
      ['preToolUse', tools],
      ['postToolUse', `Read|${tools}`],
      ['postToolUseFailure', `Read|${tools}`],
      ...['beforeReadFile', 'beforeSubmitPrompt', 'sessionStart', 'sessionEnd', 'preCompact', 'stop'],
    ];
    return piecesFor(events, (event, matcher) => ({
      command: hookLine(script, 'cursor', event),
      timeout: TIMEOUT_S,
      ...(matcher === undefined ? {} : { matcher }),
      ...(event === 'preToolUse' ? { failClosed: true } : {}),
    }));
  },
  next: 'Open the project in Cursor again; Settings > Hooks shows the entries.',
};

const VSCODE: ClientHooks = {
  defaultScope: 'project',
  file: fileAt({
    user: 'home/.copilot/hooks/lookfirst.json',
    project: 'project/.github/hooks/lookfirst.json',
  }),
  pieces: ({ script }) =>
    piecesFor(
      ['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'PreCompact', 'Stop'],
      (event) => ({ type: 'command', command: hookLine(script, 'vscode', event), timeout: TIMEOUT_S }),
    ),
  next: 'Reload the VS Code window; the agent view lists the hooks.',
};

const OPENCODE: ClientHooks = {
  defaultScope: 'project',
  file: fileAt({ user: 'xdg/opencode/opencode.json', project: 'project/opencode.json' }),
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
