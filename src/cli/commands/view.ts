import { spawn } from 'node:child_process';
import { parsed, text, toggle, UsageError, type Values, withDefault } from '../../config/flags.ts';
import { Fault } from '../../model/fault.ts';
import { invalidArgument } from '../../model/verdict.ts';
import { canonicalPath, Scope } from '../../records/scope.ts';
import { turnViews } from '../../records/turns.ts';
import type { ViewSources } from '../../records/view/diffs.ts';
import { entryView, turnDetail } from '../../records/view/entry-views.ts';
import { exported } from '../../records/view/export.ts';
import { openForCommand, policyOf, recordsPlaceOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer } from '../columns.ts';
import { PORT_HINT, parsePort, STATE_FLAGS } from '../flags.ts';
import { startedByAgent } from '../operator.ts';
import { namedChange, tellMissing, tellRefusal } from '../refusal-text.ts';
import { Stage } from '../stage.ts';
import { withRecords } from '../with-records.ts';
import { playScenes } from './demo.ts';

const FLAGS = {
  ...STATE_FLAGS,
  port: withDefault(
    parsed(['N', 'the port; 0 picks a free one'], parsePort, () => PORT_HINT),
    0,
  ),
  noOpen: toggle("print the address, don't open a browser"),
  allowUndo: toggle('allow undo even if several machines share the store'),
  export: text('TURN|CHANGE|NUMBER', 'print a turn, a change or a refusal as one HTML file to share'),
  markdown: toggle('with --export: print Markdown'),
} as const;

type Flags = Values<typeof FLAGS>;

/** `lookfirst view`: shows the journal as a local page. */
export const VIEW: CliCommand = defineCommand({
  about:
    'Shows in your browser what each session saw, what it changed and what it was denied, with one-click undo. ' +
    'It listens on 127.0.0.1 only, and the printed address contains the token that opens it.',
  args: {
    dir: withDefault(text('DIR', 'show the workspaces that contain this folder or are inside it'), '.'),
  },
  flags: FLAGS,
  notes: `
Examples:
  lookfirst view                    what happened here
  lookfirst view ~/project          what happened there
  lookfirst view --no-open --port 8123
  lookfirst view --export prompt-12 > turn.html
  lookfirst view --export c4f9a21 --markdown
  lookfirst view --export 412       the entry of this number, from log --json or the address`,
  run: (cli, { dir, ...flags }) => view(cli, dir, flags),
});

async function view(cli: Cli, dir: string, flags: Flags): Promise<ExitCode> {
  const here: Cli = { ...cli, flags: { ...cli.flags, root: [dir] } };
  const place = recordsPlaceOf(cli, here.flags);
  if (place.store === 'memory:')
    throw new Fault('MISUSE', 'a store in memory has nothing to show to another process: name another store');
  const folder = canonicalPath(cli.cwd, dir);
  if (folder.kind !== 'folder') throw new Fault('CONFIG_INVALID', `there is no folder ${dir}`, { path: dir });
  const { secrets } = policyOf(cli, cli.flags);
  const { export: name } = flags;
  if (name === undefined && flags.markdown === true)
    throw new UsageError('--markdown is for --export: name a turn, a change or a refusal');
  if (name !== undefined) {
    const scope = new Scope({ cwd: folder.absolute });
    return withRecords(here, (records) => share(cli, { records, scope, secrets }, { name, flags }));
  }
  await cli.runViewer({
    place,
    folders: [folder.absolute],
    secrets,
    openWorkspace: (roots) => openForCommand(cli, cli.flags, { roots, folders: [folder.absolute] }),
    readOnly: whyReadOnly(cli, flags, place.store),
    port: flags.port,
    demo: async () => {
      const stage = new Stage();
      await playScenes(cli, stage, async () => {});
      return stage;
    },
    log: (line) => cli.terminal.tell(`lookfirst: ${line}`),
    listening: (address) => {
      void announce(cli, address, flags);
    },
  });
  return EXIT.done;
}

/** Prints a turn or a change as a document. */
async function share(
  cli: Cli,
  sources: ViewSources,
  { name, flags }: { readonly name: string; readonly flags: Flags },
): Promise<ExitCode> {
  const { records, scope } = sources;
  const found = await namedChange(records, name);
  const change = found !== undefined && scope.includes(found.root) ? found : undefined;
  const turns = change === undefined ? await turnViews(records, { scope, session: flags.session, name }) : [];
  const [turn, other] = turns;
  if (other !== undefined) {
    const reason = `several turns are named ${name}: name one by its whole id, or its session with --session`;
    return tellRefusal(cli, invalidArgument('status', '', reason));
  }
  const seq = change?.seq ?? (turn === undefined && /^\d{1,15}$/.test(name) ? Number(name) : undefined);
  const view = seq === undefined ? turn && (await turnDetail(sources, turn)) : await entryView(sources, seq);
  const document = view && exported(view, flags.markdown === true ? 'markdown' : 'html');
  if (document === undefined)
    return tellMissing(
      cli,
      `there is no turn, change or refusal ${name} here`,
      'lookfirst rewind lists the turns, lookfirst log the changes and refusals.',
    );
  await cli.terminal.print(document.trimEnd());
  return EXIT.done;
}

/** The reason why the viewer may not undo changes; undefined if it may. */
function whyReadOnly(cli: Cli, { readOnly, allowUndo }: Flags, store: string): string | undefined {
  if (readOnly === true) return 'the viewer was started with --read-only';
  const agent = startedByAgent(cli);
  if (agent !== undefined) return `an agent started this viewer (${agent} is set)`;
  if (allowUndo === true || store.startsWith('sqlite:')) return undefined;
  return 'several machines share this store: --allow-undo allows undo';
}

async function announce(
  cli: Cli,
  { url, once }: { readonly url: string; once(): string },
  flags: Flags,
): Promise<void> {
  const { terminal } = cli;
  await answer(cli, { url }, url);
  if (flags.noOpen === true || !terminal.isInteractive) return;
  terminal.tell('opening it in your browser; Ctrl-C ends the viewer');
  openBrowser(cli, once());
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens the page in a browser. A failure is harmless, because the address is on the screen. */
function openBrowser({ platform, terminal }: Cli, url: string): void {
  const [program = '', ...args] = OPENERS[platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => terminal.tell(`${program} could not be started: open the address yourself`));
  child.unref();
}
