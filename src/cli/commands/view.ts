import { spawn } from 'node:child_process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Fault } from '../../model/fault.ts';
import { canonicalPath } from '../../records/scope.ts';
import { openForCommand, policyOf, recordsPlaceOf, type StateFlags } from '../../session/configured.ts';
import { type Cli, EXIT, type ExitCode } from '../cli.ts';
import { addCommonFlags, unusedSessionOption } from '../flags.ts';
import { startedByAgent } from '../operator.ts';

interface Flags extends StateFlags {
  readonly port: number;
  readonly open: boolean;
  readonly allowUndo?: boolean;
  readonly json?: boolean;
}

/** `lookfirst view`: shows the journal as a local page. */
export function defineView(cli: Cli): Command {
  const command = new Command('lookfirst view')
    .description(
      'Shows what each session saw, changed and was refused, as a page in your browser, with undo by click. ' +
        'It serves on 127.0.0.1 only, and the printed address contains the token that opens it.',
    )
    .argument('[dir]', 'show the workspaces that contain this folder or lie in it', '.');
  return addCommonFlags(command, 'workspace', 'read-only')
    .addOption(new Option('--port <n>', 'port; 0 is any free one').default(0).argParser(portNumber))
    .option('--no-open', 'print the address and open no browser')
    .option('--allow-undo', 'allow undo even if several machines share the store')
    .addOption(unusedSessionOption())
    .addHelpText('after', EXAMPLES)
    .action(async (dir: string, flags: Flags) => {
      cli.end(await view(cli, dir, flags));
    });
}

const EXAMPLES = `
Examples:
  lookfirst view                    what happened here
  lookfirst view ~/project          what happened there
  lookfirst view --no-open --port 8123`;

async function view(cli: Cli, dir: string, flags: Flags): Promise<ExitCode> {
  const place = recordsPlaceOf(cli, { ...flags, root: [dir] });
  if (place.store === 'memory:')
    throw new Fault('MISUSE', 'a store in memory has nothing to show to another process: name another store');
  const folder = canonicalPath(cli.cwd, dir);
  if (folder.kind !== 'folder') throw new Fault('CONFIG_INVALID', `there is no folder ${dir}`, { path: dir });
  const { secrets } = policyOf(cli, flags);
  await cli.runViewer({
    place,
    folders: [folder.absolute],
    secrets,
    openWorkspace: (roots) => openForCommand(cli, flags, { roots, folders: [folder.absolute] }),
    readOnly: whyReadOnly(cli, flags, place.store),
    port: flags.port,
    log: (line) => cli.terminal.tell(`lookfirst: ${line}`),
    listening: (address) => {
      void announce(cli, address, flags);
    },
  });
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
  if (flags.json === true) await terminal.printJson({ url });
  else await terminal.print(url);
  if (!flags.open || !terminal.isInteractive) return;
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

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port from 0 to 65535.');
  return Number(text);
}
