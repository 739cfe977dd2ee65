import type { CommandEntry } from './command-entry.ts';

/** Every command, in the order of the help. A command's code is loaded only when it is asked for. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    usage: 'serve [DIR...]',
    summary: 'MCP server on the given folders (default: the current one)',
    help: async () => (await import('./serve-options.ts')).SERVE_HELP,
  },
  {
    name: 'proxy',
    usage: 'proxy --root DIR -- COMMAND...',
    summary: 'the gate in front of any MCP server',
    ownsStdout: true,
    load: async () => (await import('./commands/proxy.ts')).defineProxy,
  },
  {
    name: 'run',
    usage: 'run -- COMMAND...',
    summary: 'runs a command whose changes can be undone',
    ownsStdout: true,
    load: async () => (await import('./commands/run.ts')).defineRun,
  },
  {
    name: 'hook',
    usage: 'hook CLIENT',
    summary: 'answers one hook call of an agent program',
    ownsStdout: true,
    help: async () => (await import('./hook-help.ts')).HOOK_HELP,
  },
  {
    name: 'init',
    usage: 'init CLIENT',
    summary: "adds Lookfirst to a client's configuration",
    load: async () => (await import('./commands/init.ts')).defineInit,
  },
  {
    name: 'remove',
    usage: 'remove CLIENT',
    summary: 'takes it out again',
    load: async () => (await import('./commands/init.ts')).defineRemove,
  },
  {
    name: 'doctor',
    usage: 'doctor',
    summary: 'proves with a real refused write that the gate is enforced, and says what is not',
    load: async () => (await import('./commands/doctor.ts')).defineDoctor,
  },
  {
    name: 'demo',
    usage: 'demo',
    summary: 'the five promises, played in a temporary folder',
    load: async () => (await import('./commands/demo.ts')).defineDemo,
  },
  {
    name: 'status',
    usage: 'status [PATH]',
    summary: 'what sessions have seen, and whether it is still true',
    load: async () => (await import('./commands/status.ts')).defineStatus,
  },
  {
    name: 'log',
    usage: 'log',
    summary: 'what was read, changed and refused, by whom',
    load: async () => (await import('./commands/log.ts')).defineLog,
  },
  {
    name: 'diff',
    usage: 'diff [CHANGE]',
    summary: 'what a change did to the files',
    load: async () => (await import('./commands/diff.ts')).defineDiff,
  },
  {
    name: 'undo',
    usage: 'undo [CHANGE]',
    summary: 'takes changes back',
    load: async () => (await import('./commands/undo.ts')).defineUndo,
  },
  {
    name: 'rewind',
    usage: 'rewind [TURN]',
    summary: 'lists turns; returns the files to the beginning of one',
    load: async () => (await import('./commands/rewind.ts')).defineRewind,
  },
  {
    name: 'allow',
    usage: 'allow PATH',
    summary: 'lets sessions change a path without having read it',
    load: async () => (await import('./commands/allow.ts')).defineAllow,
  },
  {
    name: 'sessions',
    usage: 'sessions [forget ID | compacted ID]',
    summary: 'who works here; forgets one, or notes that its context was summarised',
    load: async () => (await import('./commands/sessions.ts')).defineSessions,
  },
  {
    name: 'gc',
    usage: 'gc [--dry-run]',
    summary: 'removes what is older than the retention or over the quota',
    load: async () => (await import('./commands/gc.ts')).defineGc,
  },
  {
    name: 'config',
    usage: 'config [get KEY]',
    summary: 'every setting: its value, where it comes from, what it means',
    load: async () => (await import('./commands/config.ts')).defineConfig,
  },
  {
    name: 'history',
    usage: 'history FILE',
    summary: 'what the model of a transcript has seen',
    load: async () => (await import('./commands/history.ts')).defineHistory,
  },
  {
    name: 'audit',
    usage: 'audit [DIR]',
    summary: 'what went wrong in the conversations your clients have kept',
    load: async () => (await import('./commands/audit.ts')).defineAudit,
  },
  {
    name: 'completion',
    usage: 'completion SHELL',
    summary: 'completes commands and flags in bash, zsh, fish or pwsh',
    load: async () => (await import('./commands/completion.ts')).completionOf(COMMANDS),
  },
  {
    name: 'version',
    usage: 'version',
    summary: 'prints the version',
    load: async () => (await import('./commands/version.ts')).defineVersion,
  },
];
