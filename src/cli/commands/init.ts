import { resolve } from 'node:path';
import { choice, required, several, text, toggle, UsageError, type Values } from '../../config/flags.ts';
import { requiredHome } from '../../config/home.ts';
import { defined } from '../../model/record.ts';
import { canonicalPath } from '../../records/scope.ts';
import { harmless, phrase } from '../../report/bounded.ts';
import { canRunCommands } from '../../session/command-places.ts';
import { placesOf, policyOf } from '../../session/configured.ts';
import { projectGit } from '../../session/project-git.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { CLIENT_NAMES, type ClientName, type ClientPlaces } from '../clients/client.ts';
import { CLIENTS, detectedClients } from '../clients/clients.ts';
import { configureClient, reportText } from '../clients/configure.ts';
import { FormerFiles } from '../clients/former.ts';
import { hookFiles, writeHookFiles } from '../clients/hook-files.ts';
import { HOOK_SETTINGS } from '../clients/hook-settings.ts';
import { type Starter, usualStarter } from '../clients/launch.ts';
import type { ConfigureReport, ConfigureRequest, Sharing } from '../clients/plan.ts';
import { refuseAgent } from '../operator.ts';
import { Stage } from '../stage.ts';

const CLIENT = choice('CLIENT', 'the client', CLIENT_NAMES);

const COMMON_FLAGS = {
  dryRun: toggle('show what would change, without changing anything'),
  scope: choice(
    'SCOPE',
    "the project's file for you only, the project's file for everyone, or your own file for all projects " +
      '(default: local if the client usually has its settings in the project, else user)',
    ['local', 'project', 'user'],
  ),
} as const;

const FLAGS = {
  ...COMMON_FLAGS,
  proxy: text(
    'NAME',
    "check calls to this server in the client's configuration, instead of adding Lookfirst's own server",
  ),
  hooks: toggle("also check the client's own file and shell tools"),
  only: toggle("also deny the client's own edit tools, so that only Lookfirst's tools can change files"),
  command: choice(
    'HOW',
    'how the client starts Lookfirst (default: npx for an installed package, else node)',
    ['npx', 'node'],
  ),
  root: several('DIR', 'the folder to serve (default: the current one)'),
} as const;

type Flags = Values<typeof FLAGS>;

/** `lookfirst init`: adds Lookfirst to a client's configuration. */
export const INIT: CliCommand = defineCommand({
  about: "Adds Lookfirst to a client's configuration, and leaves everything else in the file alone.",
  args: { client: CLIENT },
  flags: FLAGS,
  notes: `
Examples:
  lookfirst init                                  list the clients found here
  lookfirst init claude-code --dry-run            show what would change
  lookfirst init claude-desktop --root ~/project
  lookfirst init claude-code --hooks              check its own Edit, Write and Bash as well
  lookfirst init claude-code --only               deny its own edit tools, approve Lookfirst's
  lookfirst init cursor --scope user
  lookfirst init vscode --proxy filesystem        keep that server and check its calls`,
  run: async (cli, { client: name, ...flags }) => {
    if (name === undefined) return listClients(cli);
    // Refuse a missing folder: a server for it would not start, and only the client would show
    // why.
    const root = flags.root?.at(-1);
    if (root !== undefined && canonicalPath(cli.cwd, root).kind !== 'folder')
      throw new UsageError(`there is no folder ${root}`);
    return configureAsOperator(cli, 'init', { name, flags });
  },
});

/** `lookfirst remove`: removes Lookfirst from a client's configuration. */
export const REMOVE: CliCommand = defineCommand({
  about: "Removes Lookfirst from a client's configuration and restores what `init` changed.",
  args: { client: required(CLIENT) },
  flags: { ...COMMON_FLAGS, proxy: text('NAME', 'remove only the proxy in front of this server') },
  notes: `
Examples:
  lookfirst remove claude-code --dry-run
  lookfirst remove vscode --proxy filesystem`,
  run: (cli, { client: name, ...flags }) => configureAsOperator(cli, 'remove', { name, flags }),
});

/** Configures a client. An agent may only preview the change with a dry run. */
async function configureAsOperator(
  cli: Cli,
  action: ConfigureRequest['action'],
  request: { readonly name: ClientName; readonly flags: Flags },
): Promise<ExitCode> {
  const { flags } = request;
  const refused = flags.dryRun === true ? undefined : await refuseAgent(cli, action);
  return refused ?? configure(cli, action, request);
}

async function configure(
  cli: Cli,
  action: ConfigureRequest['action'],
  { name, flags }: { readonly name: ClientName; readonly flags: Flags },
): Promise<ExitCode> {
  const { platform, env, cwd, homeFolder } = cli;
  const { home } = placesOf(cli, {});
  const places = { platform, env, home: requiredHome(homeFolder), project: cwd };
  const dir = resolve(cwd, flags.root?.at(-1) ?? '.');
  const request: ConfigureRequest = {
    action,
    client: CLIENTS[name],
    places,
    dir,
    ...defined({ scope: flags.scope === 'local' ? 'project' : flags.scope, proxy: flags.proxy }),
    dryRun: flags.dryRun === true,
    starter: starterOf(cli, flags),
    former: new FormerFiles(home),
    files: hookFiles(home),
    sharing: await sharingOf(places, { name, flags, machinePaths: [home, ...cli.self, dir] }),
  };
  if (flags.only === true && HOOK_SETTINGS[name]?.only === undefined) {
    const reason = `${CLIENTS[name].title} has no setting that denies its own edit tools`;
    await printAll(cli, [{ ok: false, reason }], request);
    return EXIT.refused;
  }
  const addsHooks = action === 'init' && flags.hooks === true;
  const wantsSettings = addsHooks || flags.only === true;
  if (addsHooks && !request.dryRun) {
    const [node = '', program = ''] = cli.self;
    writeHookFiles({ home, node, program });
  }
  const shell = addsHooks ? await shellOf(cli) : 'images';
  const hooks = { gate: addsHooks, only: flags.only === true, shell };
  const reports = configureClient(wantsSettings ? { ...request, hooks } : request);
  if (reports.every((report) => report.ok)) await printAdded(cli, request, { reports, hooks });
  await printAll(cli, reports, request);
  if (!reports.every((report) => report.ok)) return EXIT.refused;
  if (cli.flags.json !== true) await printNext(cli, request, reports);
  if (addsHooks && platform === 'win32') cli.terminal.tell(UNTRIED_ON_WINDOWS);
  return EXIT.done;
}

/** Prints what `init` adds to the client, in one line. */
async function printAdded(
  { terminal, flags }: Cli,
  { action, client, proxy, dryRun }: ConfigureRequest,
  {
    reports,
    hooks,
  }: { readonly reports: readonly ConfigureReport[]; readonly hooks: NonNullable<ConfigureRequest['hooks']> },
): Promise<void> {
  const isNew = reports.some((report) => report.ok && report.did !== 'nothing');
  if (action !== 'init' || !isNew || flags.json === true) return;
  const hasServer = reports.every(
    (report) => !report.ok || report.did !== 'nothing' || report.note === undefined,
  );
  const parts = [
    ...(hasServer ? [proxy === undefined ? 'an MCP server' : `a proxy in front of ${phrase(proxy)}`] : []),
    ...(hooks.gate ? ['checks of its own file and shell tools'] : []),
    ...(hooks.only ? ['a denial of its own edit tools'] : []),
  ];
  await terminal.print(`${dryRun ? 'would add' : 'added'} to ${client.title}: ${parts.join(' and ')}`);
}

/** Prints the reports. As text, a file that gets both the server and the hooks has one line. */
async function printAll(
  { terminal, flags: { json } }: Cli,
  reports: readonly ConfigureReport[],
  request: ConfigureRequest,
): Promise<void> {
  const did = (report: ConfigureReport): boolean => report.ok && report.did !== 'nothing';
  for (const report of reports) {
    const same = reports.filter(({ file }) => file === report.file);
    const isNews = (report.ok && report.note !== undefined) || report === (same.find(did) ?? same[0]);
    const text = reportText(report, request).trimEnd();
    // The preview has a diff for each step. The file may come from a project of other people, so
    // control characters in its lines are made visible.
    if (json === true) await terminal.printJson({ dryRun: request.dryRun, ...report });
    else if (!report.ok) terminal.tell(harmless(text));
    else if (request.dryRun || isNews) await terminal.print(terminal.shown(text));
  }
}

/** How the project's files of a client are shared, and what git knows about them. */
async function sharingOf(
  places: ClientPlaces,
  {
    name,
    flags,
    machinePaths,
  }: { readonly name: ClientName; readonly flags: Flags; readonly machinePaths: readonly string[] },
): Promise<Sharing> {
  const { project, home } = places;
  const hooks = HOOK_SETTINGS[name];
  const hookFile = hooks?.file('project', places);
  const files = [...CLIENTS[name].files('project', places), ...(hookFile === undefined ? [] : [hookFile])];
  return {
    git: await projectGit(project, [...new Set(files)]),
    isShared: flags.scope === 'project',
    personal: hooks?.isPersonal === true && hookFile !== undefined ? [hookFile] : [],
    machinePaths: [...machinePaths, project, home],
  };
}

const UNTRIED_ON_WINDOWS =
  'warning: hooks run an sh script, which was not tried on Windows: check with "lookfirst doctor" that a blind write is denied';

/**
 * Decides how changes by the client's shell are recorded. `layer`: the shell runs on a copy-on-write view of the
 * workspace, if the policy allows it and this machine supports it. `images`: copies of the files before and after a
 * command are compared.
 */
async function shellOf(cli: Cli): Promise<'layer' | 'images'> {
  if (policyOf(cli, {}).hooks.shell === 'images') return 'images';
  // If there is no state folder yet, test the sandbox with a temporary one: a dry run must not
  // create the state folder.
  const stage = new Stage();
  try {
    return (await canRunCommands(cli, {}, stage.state)).ok ? 'layer' : 'images';
  } finally {
    stage.close();
  }
}

/** Prints the one next step after `init`: that of the last file that was changed. */
async function printNext(
  { terminal }: Cli,
  { action, dryRun }: ConfigureRequest,
  reports: readonly ConfigureReport[],
): Promise<void> {
  if (action !== 'init' || dryRun) return;
  const next = reports.flatMap((report) =>
    report.ok && report.did !== 'nothing' && report.next !== '' ? [report.next] : [],
  );
  if (next.length > 0) await terminal.print(`Next: ${next.at(-1)}`);
}

/** The answer of `init` without a client: the clients that this user has. */
async function listClients(cli: Cli): Promise<ExitCode> {
  const { platform, env, cwd, homeFolder, terminal } = cli;
  const found = detectedClients({ platform, env, home: requiredHome(homeFolder), project: cwd });
  const others = CLIENT_NAMES.filter((name) => !found.includes(name));
  await terminal.print(
    [
      found.length === 0 ? 'No client was found here.' : 'Found here:',
      ...found.map(
        (name) => `  lookfirst init ${name}${HOOK_SETTINGS[name] === undefined ? '' : ' --hooks'}`,
      ),
      `Also known: ${others.join(', ')}`,
    ].join('\n'),
  );
  return EXIT.done;
}

/**
 * The command that starts this program: the one that the user chose, or else npx in a shared file and
 * the usual one in any other.
 */
function starterOf({ self }: Cli, { command, scope }: Flags): Starter {
  if (command === undefined) return scope === 'project' ? 'npx' : usualStarter(self);
  return command === 'npx' ? 'npx' : self;
}
