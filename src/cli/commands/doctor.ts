import { requiredHome } from '../../config/home.ts';
import { errorText } from '../../model/fault.ts';
import { ripgrepVersion } from '../../records/health.ts';
import { lostEntries, lostText } from '../../records/lost-entries.ts';
import { harmless } from '../../report/bounded.ts';
import { canRunCommands } from '../../session/command-places.ts';
import { placesOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer } from '../columns.ts';
import { checkClients } from '../doctor/clients.ts';
import { checkHooks, checkUnjudged } from '../doctor/hooks.ts';
import {
  checkFleet,
  checkFolder,
  checkHome,
  checkKernel,
  checkNode,
  checkPolicy,
  checkStore,
  type DoctorCheck,
  fail,
  HOME,
  ok,
  warn,
} from '../doctor/state.ts';
import { STATE_FLAGS } from '../flags.ts';
import { blindWriteProblem } from '../server-process.ts';
import { Stage } from '../stage.ts';

/** `lookfirst doctor`: checks what works on this machine by trying it. */
export const DOCTOR: CliCommand = defineCommand({
  about:
    "Checks this machine, this folder and the clients configured here. Proves with a real write that unread files can't be overwritten, and says what isn't enforced.",
  flags: STATE_FLAGS,
  notes: `
ok: works. warn: works with restrictions. fail: doesn't work, and the exit code is 1.

Examples:
  lookfirst doctor
  lookfirst doctor --json | jq 'select(.status != "ok")'`,
  run: doctor,
});

async function doctor(cli: Cli): Promise<ExitCode> {
  // Without a home folder, no client can be found.
  requiredHome(cli.homeFolder);
  let failed = 0;
  for await (const check of checks(cli)) {
    if (check.status === 'fail') failed += 1;
    await answer(cli, check, lineOf(cli, check));
  }
  return failed === 0 ? EXIT.done : EXIT.fault;
}

/** The checks in their order. If a check itself fails, that is a result under its name. */
async function* checks(cli: Cli): AsyncGenerator<DoctorCheck> {
  const stage = new Stage();
  const all: readonly (readonly [name: string, run: () => Checks, failed?: typeof warn])[] = [
    ['node', checkNode],
    [HOME, () => checkHome(cli)],
    ['policy', () => checkPolicy(cli)],
    ['fleet', () => checkFleet(cli)],
    ['store', () => checkStore(cli)],
    ['containment', () => checkFolder(cli)],
    ['atomic exchange', () => checkKernel(stage)],
    ['ripgrep', () => checkRipgrep(cli)],
    // Nothing else needs a sandbox.
    ['commands', () => checkCommands(cli, stage), warn],
    ['refused write', () => checkRefusedWrite(cli, stage)],
    ['hooks', () => checkHooks(cli, stage)],
    ['client settings', () => checkLost(cli)],
    ['unjudged calls', () => checkUnjudged(cli)],
    ['clients', () => checkClients(cli, stage)],
  ];
  try {
    for (const [name, run, failed = fail] of all)
      try {
        yield* run();
      } catch (error) {
        yield failed(name, errorText(error));
      }
  } finally {
    stage.close();
  }
}

type Checks = Iterable<DoctorCheck> | AsyncIterable<DoctorCheck>;

/** Fails for each client from whose settings git or another program removed our entries. */
function checkLost(cli: Cli): DoctorCheck[] {
  const { home } = placesOf(cli, cli.flags);
  const lost = lostEntries({ home, roots: [cli.cwd], userHome: cli.homeFolder });
  return lost.map((each) => fail(each.client, lostText(each)));
}

const LONGEST_NAME = 'claude-code hooks'.length;

function lineOf(cli: Cli, { name, status, message }: DoctorCheck): string {
  const { colours } = cli.terminal;
  const paint = { ok: colours.green, warn: colours.yellow, fail: colours.red }[status];
  // Escape control characters: a message may quote the configuration of a project of other people.
  return `${paint(status.padEnd(4))}  ${name.padEnd(LONGEST_NAME)}  ${harmless(message)}`;
}

async function* checkRipgrep(cli: Cli): AsyncGenerator<DoctorCheck> {
  yield ok('ripgrep', await ripgrepVersion(cli.cwd));
}

/** Checks whether commands can run in a sandbox. */
async function* checkCommands(cli: Cli, stage: Stage): AsyncGenerator<DoctorCheck> {
  const { ok: works, message } = await canRunCommands(cli, cli.flags, stage.state);
  yield works ? ok('commands', message) : warn('commands', message);
}

/**
 * Starts the server as clients start it, and checks that it refuses to overwrite a real file that
 * was not read.
 */
async function* checkRefusedWrite(cli: Cli, stage: Stage): AsyncGenerator<DoctorCheck> {
  const name = 'refused write';
  const problem = await blindWriteProblem([...cli.self, 'serve', stage.workspace], {
    env: { ...process.env, ...stage.env },
    stage,
  });
  yield problem === undefined
    ? ok(name, 'a blind write was refused with NOT_READ, and the file is unchanged')
    : fail(name, problem);
}
