import type { SettingsValue } from './settings-value.ts';

/**
 * A key of a settings file. A dot leads to the key inside, `*` stands for every key of an object and
 * every item of a list. With `when`, the rule is only about values for which it is true.
 */
interface KeyRule {
  readonly key: string;
  when?(value: SettingsValue): boolean;
}

/** A file in which a client looks for settings, and what an agent may not do there. */
export interface SettingsFile {
  readonly client: string;
  /** Matches the path of the file, in any folder. */
  readonly path: RegExp;
  /** `program`: the client runs the file itself. */
  readonly format: 'json' | 'toml' | 'program';
  /** The places where `lookfirst init` writes. An entry there is ours if it contains our name. */
  readonly entries: readonly string[];
  /** Values without our name that `lookfirst init --only` writes. They deny the client's own tools. */
  readonly denials?: readonly KeyRule[];
  /** Keys that switch hooks off. */
  readonly off: readonly KeyRule[];
  /** Keys that make the client start a program, or let one start, without asking the user. */
  readonly starts: readonly KeyRule[];
  /** The only keys that the client accepts at the top. With any other, it ignores the whole file. */
  readonly topKeys?: readonly string[];
  /** True if a dot in a key leads to the key inside. */
  readonly splitsKeys?: true;
}

const is =
  (...values: readonly SettingsValue[]) =>
  (value: SettingsValue): boolean =>
    values.includes(value);
const isNot =
  (...values: readonly SettingsValue[]) =>
  (value: SettingsValue): boolean =>
    !values.includes(value);

/** Matches an object that has this key. */
const has = (key: string) => (value: SettingsValue) =>
  typeof value === 'object' &&
  value !== null &&
  'members' in value &&
  value.members.some(([name]) => name === key);

function valueAt(value: SettingsValue, key: string): SettingsValue | undefined {
  if (typeof value !== 'object' || value === null || !('members' in value)) return undefined;
  return value.members.findLast(([name]) => name === key)?.[1];
}

/** Variables whose value is a program, or makes programs load code, and our own variables. */
const PROGRAM_VARIABLES = [
  'BASH_ENV CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX CLAUDE_CONFIG_DIR DYLD_INSERT_LIBRARIES EDITOR ENV',
  'GIT_ASKPASS GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS GIT_CONFIG_SYSTEM GIT_EDITOR GIT_EXEC_PATH',
  'GIT_EXTERNAL_DIFF GIT_PAGER GIT_SSH GIT_SSH_COMMAND LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD LESSOPEN',
  'LOOKFIRST_GUARANTEE LOOKFIRST_HOME LOOKFIRST_OPERATOR LOOKFIRST_SESSION LOOKFIRST_SHARED_WORKSPACE LOOKFIRST_STORE',
  'LOOKFIRST_WORKSPACE PAGER PATH PERL5OPT PROMPT_COMMAND PYTHONSTARTUP RUBYOPT SHELL VISUAL ZDOTDIR',
].flatMap((names) => names.split(' '));

/** The variables of an object that start programs. `NODE_OPTIONS` does so only with some options. */
function programVariables(at: string): readonly KeyRule[] {
  const loads = (value: SettingsValue): boolean =>
    typeof value === 'string' && /(^|\s)(-r|--require|--import|--(experimental-)?loader)\b/.test(value);
  return [
    ...PROGRAM_VARIABLES.map((name) => ({ key: `${at}.${name}` })),
    { key: `${at}.NODE_OPTIONS`, when: loads },
  ];
}

/** A file in JSON without rules, except those given. */
function settingsFile(client: string, path: RegExp, rules: Partial<SettingsFile>): SettingsFile {
  return { client, path, format: 'json', entries: [], off: [], starts: [], ...rules };
}

const keys = (...names: readonly string[]): readonly KeyRule[] => names.map((key) => ({ key }));

/** A hook runs its command at an event, without asking. */
const HOOKS = { entries: ['hooks.*.*'], starts: keys('hooks.*.*') } as const;

const CLAUDE_SETTINGS: SettingsFile = settingsFile(
  'claude-code',
  /(^|\/)\.claude\/settings(\.local)?\.json$/i,
  {
    entries: [
      ...HOOKS.entries,
      ...['env.CLAUDE_CODE_SHELL_PREFIX', 'permissions.allow.*', 'permissions.ask.*', 'permissions.deny.*'],
      ...['enabledMcpjsonServers.*', 'disabledMcpjsonServers.*', 'deniedMcpServers.*'],
    ],
    denials: [{ key: 'permissions.deny.*', when: is('Edit', 'MultiEdit', 'Write', 'NotebookEdit') }],
    off: [
      { key: 'disableAllHooks', when: isNot(false) },
      { key: 'allowManagedHooksOnly', when: isNot(false) },
    ],
    starts: [
      ...HOOKS.starts,
      ...keys('apiKeyHelper', 'awsAuthRefresh', 'awsCredentialExport', 'gcpAuthRefresh', 'otelHeadersHelper'),
      ...keys('proxyAuthHelper', 'statusLine', 'subagentStatusLine', 'fileSuggestion', 'defaultShell'),
      ...programVariables('env'),
      { key: 'enabledPlugins.*', when: isNot(false) },
      ...keys('extraKnownMarketplaces.*', 'enabledMcpjsonServers.*'),
      { key: 'enableAllProjectMcpServers', when: isNot(false) },
      { key: 'skipDangerousModePermissionPrompt', when: isNot(false) },
      { key: 'permissions.defaultMode', when: is('bypassPermissions') },
      { key: 'permissions.allow.*', when: is('Bash', 'Bash(*)', 'Bash(**)', 'Bash(:*)', '*') },
    ],
  },
);

/** A server that the client starts itself, not one that it connects to. */
const SERVER = { key: 'mcpServers.*', when: has('command') };

const CLAUDE_FILES: readonly SettingsFile[] = [
  CLAUDE_SETTINGS,
  // Claude Code asks before it starts a project's server.
  settingsFile('claude-code', /(^|\/)\.mcp\.json$/i, {
    entries: ['mcpServers.*'],
  }),
  settingsFile('claude-code', /(^|\/)\.claude\.json$/i, {
    entries: [
      ...['mcpServers.*', 'projects.*.mcpServers.*', 'projects.*.enabledMcpjsonServers.*'],
      ...[
        'projects.*.disabledMcpjsonServers.*',
        'projects.*.allowedTools.*',
        'projects.*.disabledMcpServers.*',
      ],
    ],
    starts: [
      SERVER,
      { ...SERVER, key: 'projects.*.mcpServers.*' },
      ...keys('projects.*.enabledMcpjsonServers.*'),
      { key: 'projects.*.enableAllProjectMcpServers', when: isNot(false) },
      { key: 'projects.*.hasTrustDialogAccepted', when: isNot(false) },
      { key: 'bypassPermissionsModeAccepted', when: isNot(false) },
    ],
  }),
  settingsFile('claude-desktop', /(^|\/)claude_desktop_config\.json$/i, {
    entries: ['mcpServers.*'],
    starts: [SERVER],
  }),
];

const CODEX_FILES: readonly SettingsFile[] = [
  settingsFile('codex', /(^|\/)\.codex\/hooks\.json$/i, {
    ...HOOKS,
    topKeys: ['description', 'hooks'],
  }),
  settingsFile('codex', /(^|\/)\.codex\/([\w-]+\.)?config\.toml$/i, {
    format: 'toml',
    entries: [...HOOKS.entries, 'mcp_servers.*'],
    off: [
      ...['features.', 'profiles.*.features.'].flatMap((at) =>
        ['hooks', 'codex_hooks'].map((name) => ({ key: at + name, when: isNot(true) })),
      ),
      ...keys('hooks.state.*'),
    ],
    starts: [
      ...HOOKS.starts,
      ...keys('notify', 'profiles.*.notify', 'model_providers.*.auth'),
      { key: 'mcp_servers.*', when: has('command') },
      { key: 'bypass_hook_trust', when: isNot(false) },
      { key: 'projects.*.trust_level', when: is('trusted') },
      ...['', 'profiles.*.'].flatMap((at) => [
        { key: `${at}approval_policy`, when: is('never') },
        { key: `${at}sandbox_mode`, when: is('danger-full-access') },
      ]),
      ...programVariables('shell_environment_policy.set'),
    ],
  }),
];

const GEMINI_FILES: readonly SettingsFile[] = [
  settingsFile('gemini', /(^|\/)\.gemini\/settings\.json$/i, {
    entries: [...HOOKS.entries, 'mcpServers.*', 'mcp.excluded.*', 'mcp.allowed.*', 'tools.exclude.*'],
    denials: [{ key: 'tools.exclude.*', when: is('write_file', 'replace') }],
    off: [
      { key: 'hooksConfig.enabled', when: isNot(true) },
      { key: 'hooks.enabled', when: isNot(true) },
      { key: 'tools.enableHooks', when: isNot(true) },
      { key: 'enableHooks', when: isNot(true) },
      ...keys('hooksConfig.disabled.*', 'hooks.disabled.*'),
    ],
    starts: [
      ...HOOKS.starts,
      SERVER,
      ...keys('mcp.serverCommand', 'mcpServerCommand', 'tools.discoveryCommand', 'toolDiscoveryCommand'),
      ...keys('tools.callCommand', 'toolCallCommand'),
      { key: 'general.defaultApprovalMode', when: is('yolo') },
      { key: 'tools.allowed.*', when: is('run_shell_command', 'ShellTool') },
    ],
  }),
  settingsFile('gemini', /(^|\/)\.gemini\/extensions\/[^/]+\/gemini-extension\.json$/i, {
    entries: ['mcpServers.*'],
    starts: [SERVER],
  }),
  settingsFile('gemini', /(^|\/)\.gemini\/extensions\/[^/]+\/hooks\/hooks\.json$/i, {
    ...HOOKS,
  }),
];

const CURSOR_FILES: readonly SettingsFile[] = [
  settingsFile('cursor', /(^|\/)\.cursor\/hooks\.json$/i, {
    ...HOOKS,
    off: [{ key: 'version', when: isNot(1) }],
  }),
  // Cursor asks before it starts a new or changed server.
  settingsFile('cursor', /(^|\/)\.cursor\/mcp\.json$/i, {
    entries: ['mcpServers.*'],
  }),
  settingsFile('cursor', /(^|\/)\.cursor\/cli\.json$/i, {
    entries: ['permissions.deny.*', 'permissions.allow.*'],
    starts: [{ key: 'permissions.allow.*', when: is('Shell(*)', 'Shell(**)', 'Shell') }],
  }),
];

/** A task that VS Code runs as soon as the folder is opened. */
const runsOnOpen = (task: SettingsValue): boolean =>
  valueAt(valueAt(task, 'runOptions') ?? null, 'runOn') === 'folderOpen';

const VSCODE_FILES: readonly SettingsFile[] = [
  settingsFile('vscode', /(^|\/)(\.github|\.copilot)\/hooks\/[^/]+\.json$/i, {
    ...HOOKS,
    off: [{ key: 'disableAllHooks', when: isNot(false) }],
  }),
  // VS Code asks before it starts a new or changed server.
  settingsFile('vscode', /(^|\/)(\.vscode|Code( - Insiders)?\/User)\/mcp\.json$/i, {
    entries: ['servers.*'],
  }),
  settingsFile('vscode', /(^|\/)(\.vscode|Code( - Insiders)?\/User)\/settings\.json$/i, {
    splitsKeys: true,
    entries: ['chat.mcp.serverSampling.*', 'mcp.servers.*'],
    off: [
      { key: 'chat.useHooks', when: isNot(true) },
      { key: 'chat.hookFilesLocations.*', when: isNot(true) },
    ],
    starts: [
      { key: 'chat.hookFilesLocations.*', when: isNot(false) },
      { key: 'chat.tools.autoApprove', when: isNot(false) },
      { key: 'chat.tools.global.autoApprove', when: isNot(false) },
      { key: 'chat.tools.terminal.autoApprove.*', when: isNot(false, null) },
      { key: 'chat.tools.terminal.enableAutoApprove', when: isNot(false) },
      { key: 'task.allowAutomaticTasks', when: isNot('off') },
      { key: 'security.workspace.trust.enabled', when: isNot(true) },
      ...keys('git.path', 'terminal.integrated.profiles.*.*', 'terminal.integrated.automationProfile.*'),
      ...keys('terminal.integrated.shell.*', 'terminal.integrated.shellArgs.*'),
      ...programVariables('terminal.integrated.env.*'),
      { key: 'mcp.servers.*', when: has('command') },
    ],
  }),
  settingsFile('vscode', /(^|\/)(\.vscode|Code( - Insiders)?\/User)\/tasks\.json$/i, {
    starts: [
      { key: 'tasks.*', when: runsOnOpen },
      { key: 'runOptions.runOn', when: is('folderOpen') },
    ],
  }),
];

const ZED_FILES: readonly SettingsFile[] = [
  settingsFile('zed', /(^|\/)\.?zed\/settings\.json$/i, {
    entries: ['context_servers.*'],
    starts: [
      { key: 'context_servers.*', when: has('command') },
      { key: 'agent_servers.*', when: has('command') },
      { key: 'agent.always_allow_tool_actions', when: isNot(false) },
      { key: 'agent.tool_permissions.default', when: is('allow') },
      ...keys('lsp.*.binary', 'dap.*.binary', 'terminal.shell', 'formatter.external'),
      ...keys('languages.*.formatter.external', 'languages.*.formatter.*.external'),
      ...programVariables('terminal.env'),
    ],
  }),
  settingsFile('zed', /(^|\/)\.?zed\/tasks\.json$/i, {
    starts: [{ key: '*', when: has('hooks') }],
  }),
];

const OPENCODE_FILES: readonly SettingsFile[] = [
  settingsFile('opencode', /(^|\/)(opencode\.jsonc?|\.opencode\.json|\.config\/opencode\/config\.json)$/i, {
    entries: ['plugin.*', 'mcp.*', 'tools.*', 'permission.*'],
    denials: [{ key: 'permission.edit', when: is('deny') }],
    starts: [
      ...keys('plugin.*', 'formatter.*.command', 'lsp.*.command', 'provider.*.npm', 'experimental.hook.*'),
      { key: 'mcp.*', when: has('command') },
    ],
  }),
  settingsFile(
    'opencode',
    /(^|\/)(\.opencode|\.config\/opencode)\/(plugins?|tools?)\/[^/]+\.[cm]?[jt]sx?$/i,
    {
      format: 'program',
    },
  ),
];

/** Every settings file that a client reads in a project or in the user's home folder. */
export const SETTINGS_FILES: readonly SettingsFile[] = [
  ...CLAUDE_FILES,
  ...CODEX_FILES,
  ...GEMINI_FILES,
  ...CURSOR_FILES,
  ...VSCODE_FILES,
  ...ZED_FILES,
  ...OPENCODE_FILES,
];

/** A quick test for most other paths. */
const MAY_MATCH = /\.(json|jsonc|toml|[cm]?[jt]sx?)$/i;

/** The settings file at a path, relative or absolute; undefined for every other file. */
export function settingsFileAt(path: string): SettingsFile | undefined {
  return MAY_MATCH.test(path) ? SETTINGS_FILES.find((file) => file.path.test(path)) : undefined;
}

/** Folders in which clients look for settings files. A link there would replace the files in it. */
const SETTINGS_FOLDER =
  /(^|\/)(\.(claude|codex|gemini|cursor|vscode|zed|opencode|copilot)|\.github(\/hooks)?|\.copilot\/hooks|\.opencode\/(plugins?|tools?)|\.gemini\/extensions(\/[^/]+(\/hooks)?)?)$/i;

/** True for a folder in which a client looks for settings files. */
export function isSettingsFolder(path: string): boolean {
  return SETTINGS_FOLDER.test(path);
}
