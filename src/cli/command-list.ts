import type { CommandEntry } from './cli.ts';

/** Every command, in the order of the help. A command's code is loaded only when it runs. */
export const COMMANDS: readonly CommandEntry[] = [
  ...inGroup('set up', [
    {
      usage: 'init [CLIENT]',
      summary: "adds Lookfirst to a client's configuration",
      load: async () => (await import('./commands/init.ts')).INIT,
    },
    {
      usage: 'remove CLIENT',
      summary: "removes Lookfirst from a client's configuration",
      load: async () => (await import('./commands/init.ts')).REMOVE,
    },
    {
      usage: 'doctor',
      summary: 'checks this machine, and that blind writes are refused',
      load: async () => (await import('./commands/doctor.ts')).DOCTOR,
    },
    {
      usage: 'demo',
      summary: 'shows what is refused and undone, in a temporary folder',
      load: async () => (await import('./commands/demo.ts')).DEMO,
    },
    {
      usage: 'completion SHELL',
      summary: 'prints a completion script for bash, zsh, fish or pwsh',
      load: async () => (await import('./commands/completion.ts')).completionOf(COMMANDS),
    },
    {
      usage: 'version',
      summary: 'prints the version',
      load: async () => (await import('./commands/version.ts')).VERSION,
    },
  ]),
  ...inGroup('look', [
    {
      usage: 'status [PATH]',
      summary: "shows what sessions have seen, and whether it's current",
      isPaged: true,
      load: async () => (await import('./commands/status.ts')).STATUS,
    },
    {
      usage: 'log',
      summary: 'shows who read or changed what, and what was refused',
      isPaged: true,
      load: async () => (await import('./commands/log.ts')).LOG,
    },
    {
      usage: 'diff [CHANGE]',
      summary: 'shows what a change did to the files',
      isPaged: true,
      load: async () => (await import('./commands/diff.ts')).DIFF,
    },
    {
      usage: 'view [DIR]',
      summary: 'shows the journal in your browser, with one-click undo',
      load: async () => (await import('./commands/view.ts')).VIEW,
    },
    {
      usage: 'blame FILE...',
      summary: 'shows which session wrote each line, and when',
      isPaged: true,
      load: async () => (await import('./commands/blame.ts')).BLAME,
    },
    {
      usage: 'claims',
      summary: "lists who's working on which file",
      isPaged: true,
      load: async () => (await import('./commands/status.ts')).CLAIMS,
    },
    {
      usage: 'audit [DIR]',
      summary: 'counts blind overwrites in your transcripts',
      isPaged: true,
      load: async () => (await import('./commands/audit.ts')).AUDIT,
    },
    {
      usage: 'history FILE',
      summary: "shows what a transcript's model has seen",
      isPaged: true,
      load: async () => (await import('./commands/history.ts')).HISTORY,
    },
  ]),
  ...inGroup('undo', [
    {
      usage: 'undo [CHANGE]',
      summary: 'takes changes back',
      load: async () => (await import('./commands/take-back.ts')).UNDO,
    },
    {
      usage: 'rewind [TURN]',
      summary: 'lists turns; takes the files back to before a turn',
      load: async () => (await import('./commands/take-back.ts')).REWIND,
    },
    {
      usage: 'run -- COMMAND ARGS...',
      summary: 'runs a command whose changes you can undo',
      runsProgram: true,
      load: async () => (await import('./commands/run.ts')).RUN,
    },
  ]),
  ...inGroup('serve', [
    {
      usage: 'serve [DIR...]',
      summary: 'serves folders to an MCP client',
      ownsStdout: true,
      load: async () => (await import('./commands/serve.ts')).SERVE,
    },
    {
      usage: 'proxy [--root DIR] -- COMMAND ARGS...',
      summary: 'checks every call to another MCP server',
      ownsStdout: true,
      load: async () => (await import('./commands/proxy.ts')).PROXY,
    },
    {
      usage: 'hook CLIENT',
      summary: "answers one of a client's hook calls",
      ownsStdout: true,
      load: async () => (await import('./commands/hook.ts')).HOOK,
    },
  ]),
  ...inGroup('settings', [
    {
      usage: 'allow PATH',
      summary: "lets sessions change a path they haven't read",
      load: async () => (await import('./commands/allow.ts')).ALLOW,
    },
    {
      usage: 'config [get KEY]',
      summary: 'shows every setting: its value, source and meaning',
      isPaged: true,
      load: async () => (await import('./commands/config.ts')).CONFIG,
    },
    {
      usage: 'sessions [forget ID | compacted ID]',
      summary: 'lists sessions; lets one forget what it has seen',
      isPaged: true,
      load: async () => (await import('./commands/status.ts')).SESSIONS,
    },
    {
      usage: 'gc',
      summary: 'removes old journal entries and before-images',
      load: async () => (await import('./commands/gc.ts')).GC,
    },
  ]),
];

/** A group of the help. A command's name is the first word of its usage. */
function inGroup(
  group: CommandEntry['group'],
  commands: readonly Omit<CommandEntry, 'group' | 'name'>[],
): readonly CommandEntry[] {
  return commands.map((each) => ({ group, name: each.usage.replace(/ .*/, ''), ...each }));
}

/** Old spellings of commands, which work for one version, and what to type now. */
export const OLD_SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  report: ['audit', '--observed'],
};
