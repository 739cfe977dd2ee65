import { type Client, type ConfigScope, withheldBy } from './client.ts';
import { configText, readConfig } from './config-file.ts';
import type { ConfigTable } from './config-value.ts';
import { CONFIG_SYNTAXES } from './edit-config.ts';
import { HOOK_SETTINGS } from './hook-settings.ts';
import { type Launch, proxyLaunch, serveLaunch } from './launch.ts';
import { piecesOf, withPieces } from './pieces.ts';
import { type ConfigureReport, type ConfigureRequest, Plan } from './plan.ts';
import { clientValues, hasOurs, newFile, withoutProxy, withProxy, withServer } from './servers.ts';

/**
 * Adds our server and hooks to a client's configuration, or removes them. All other bytes of the
 * files stay. If any file cannot be edited, no file is changed, and only the failures are returned.
 */
export function configureClient(request: ConfigureRequest): readonly ConfigureReport[] {
  const whole = new Plan(request);
  const wanted = planned(request, whole, planServer);
  const [exposed] = whole.exposed();
  const isOptional = request.hooks?.gate === true && request.scope === undefined;
  const left = exposed !== undefined && !exposed.ok && isOptional ? exposed : undefined;
  const plan = left === undefined ? whole : new Plan(request);
  // Hooks work without the server, so a file that would show a path of this machine to other people is left alone.
  const reports = left === undefined ? wanted : planned(request, plan, () => leftAlone(left));
  const failed = [...reports, ...plan.exposed()].filter((report) => !report.ok);
  if (failed.length > 0)
    return failed.filter(({ file }, index) => failed.findIndex((other) => other.file === file) === index);
  const all = [...reports, ...plan.exclude()];
  return (request.dryRun ? undefined : plan.commit()) ?? all;
}

/** Says why a file did not get the server's entry. */
function leftAlone({
  file = '',
  reason,
}: {
  readonly file?: string;
  readonly reason: string;
}): ConfigureReport {
  const note = `${reason}. The hooks work without the server`;
  return { ok: true, file, did: 'nothing', diff: '', next: '', note };
}

function planned(
  request: ConfigureRequest,
  plan: Plan,
  serverOf: (request: ConfigureRequest, plan: Plan) => ConfigureReport,
): readonly ConfigureReport[] {
  const { action, client, scope, proxy } = request;
  const files = scopesOf(request).flatMap((each) => serverFiles(request, each));
  if (files.length === 0) return [{ ok: false, reason: `${client.title} has no ${scope} configuration` }];
  if (action === 'remove') return planRemove(request, plan, files);
  const server = proxy === undefined ? [serverOf(request, plan)] : planProxy(request, plan, { proxy, files });
  return [...server, ...planHooks(request, plan)];
}

/** A file of the client in which a server's entry may be. */
interface ServerFile {
  readonly scope: ConfigScope;
  readonly path: string;
}

function serverFiles({ client, places }: ConfigureRequest, scope: ConfigScope): readonly ServerFile[] {
  return client.files(scope, places).map((path) => ({ scope, path }));
}

function scopesOf({ action, client, scope, proxy }: ConfigureRequest): readonly ConfigScope[] {
  if (scope !== undefined) return [scope];
  if (action === 'init' && proxy === undefined) return [client.defaultScope];
  return client.defaultScope === 'user' ? ['user', 'project'] : ['project', 'user'];
}

/** Plans adding our server to the file that has its entry, else to the first file that exists. */
function planServer(request: ConfigureRequest, plan: Plan): ConfigureReport {
  const { client, places, starter, scope = client.defaultScope } = request;
  const files = serverFiles(request, scope).map(({ path }) => path);
  const [path = ''] = [...files.filter((each) => hasEntry(client, each)), ...files.filter(exists), ...files];
  const launch = serveLaunch(dirOf(request, scope), places.platform, starter);
  const entry = client.entry({ ...launch, ...withheldOf(request) });
  return plan.change(path, (have) => withServer(client, have, entry), {
    next: client.next,
    byHand: newFile(client, entry),
  });
}

/** Plans putting our proxy before a server, in the first file that has this server. */
function planProxy(
  request: ConfigureRequest,
  plan: Plan,
  { proxy, files }: { readonly proxy: string; readonly files: readonly ServerFile[] },
): readonly ConfigureReport[] {
  const { client, places, starter } = request;
  const next = client.next + withheldNote(request);
  const existing = files.filter(({ path }) => exists(path));
  const [first] = files;
  if (existing.length === 0 && first !== undefined)
    return [
      { ok: false, file: first.path, reason: `it does not exist, so there is no server ${proxy} to check` },
    ];
  const failed: ConfigureReport[] = [];
  for (const { path, scope } of existing) {
    const prefix = proxyLaunch(dirOf(request, scope), places.platform, starter);
    const report = plan.change(path, (have) => withProxy(client, have, { name: proxy, prefix }), { next });
    if (report.ok) return [report];
    failed.push(report);
  }
  return failed;
}

/** Plans adding our hooks to a client's settings. */
function planHooks(request: ConfigureRequest, plan: Plan): readonly ConfigureReport[] {
  const { client, places, scope, hooks, files } = request;
  if (hooks === undefined) return [];
  const settings = HOOK_SETTINGS[client.name];
  if (settings === undefined) {
    const reason = `${client.title} has no hooks. Without --hooks, lookfirst init ${client.name} adds the MCP server`;
    return [{ ok: false, reason }];
  }
  const { header } = settings;
  const pieces = piecesOf(settings, files, hooks);
  const next = hooks.gate ? settings.next : `Start ${client.title} again.`;
  const byHand = CONFIG_SYNTAXES.json.write(withPieces({}, pieces, header));
  const path = settings.file(scope ?? settings.defaultScope, places);
  return [plan.change(path, (have) => withPieces(have, pieces, header), { next, byHand })];
}

/** Plans removing our server, proxies and hooks from every file of the client, or only one proxy. */
function planRemove(
  request: ConfigureRequest,
  plan: Plan,
  files: readonly ServerFile[],
): readonly ConfigureReport[] {
  const { client, places, proxy } = request;
  const settings = proxy === undefined ? HOOK_SETTINGS[client.name] : undefined;
  const servers = files.map(({ path }) => path);
  const hooks = settings === undefined ? [] : scopesOf(request).map((each) => settings.file(each, places));
  const change = proxy === undefined ? 'withoutUs' : (have: ConfigTable) => withoutProxy(client, have, proxy);
  const worthTelling = (reports: readonly ConfigureReport[]) =>
    reports.filter((report) => !report.ok || report.did !== 'nothing');
  const ours = worthTelling(
    [...new Set([...servers, ...hooks])].map((path) => plan.change(path, change, { broken: 'skip' })),
  );
  if (ours.length > 0) return ours;
  const all = servers.map((path) => plan.change(path, change));
  return worthTelling(all).length > 0 ? worthTelling(all) : all.slice(0, 1);
}

/** True if a file has an entry of ours, or our proxy before another server. */
function hasEntry(client: Client, path: string): boolean {
  const text = configText(path);
  const have = text === undefined ? undefined : clientValues(client, text);
  return have !== undefined && hasOurs(client, have);
}

function exists(path: string): boolean {
  const file = readConfig(path);
  return 'reason' in file || file.text !== undefined;
}

/**
 * Tells the user to set variables that the client does not pass to the proxied server; empty if
 * there are none. `init` does not write them into the server's entry, because the environment of
 * that entry belongs to the user.
 */
function withheldNote({ client, places, proxy }: ConfigureRequest): string {
  if (proxy === undefined) return '';
  const { env = {}, forwards = [] } = withheldBy(client, places);
  const names = [...Object.keys(env), ...forwards].join(' and ');
  if (names === '') return '';
  return (
    ` ${client.title} does not pass ${names} to its servers: set the same in the environment of ` +
    `"${proxy}", else its calls are recorded in another place.`
  );
}

/**
 * The variables that our entry must pass on. A shared file names them without their values, which are
 * paths of this machine.
 */
function withheldOf({ client, places, sharing }: ConfigureRequest): Pick<Launch, 'env' | 'forwards'> {
  const withheld = withheldBy(client, places);
  if (sharing?.isShared !== true) return withheld;
  return { forwards: [...Object.keys(withheld.env ?? {}), ...(withheld.forwards ?? [])] };
}

/**
 * The text that names the folder `dir` in the client's file. For the project's folder it is `.` or
 * a placeholder, if the client supports that. The file then works in every checkout.
 */
function dirOf({ client, dir, places }: ConfigureRequest, scope: ConfigScope): string {
  if (dir !== places.project) return dir;
  return (scope === 'project' ? client.projectDir : client.userDir) ?? dir;
}

const DONE = { create: 'created', change: 'changed', delete: 'deleted' } as const;

/** The text that `init` and `remove` print for a report: one line, or the diff for a dry run. */
export function reportText(
  report: ConfigureReport,
  request: Pick<ConfigureRequest, 'action' | 'dryRun'>,
): string {
  if (!report.ok) {
    const line = report.line === undefined ? '' : ` (line ${report.line})`;
    const what = report.file === undefined ? '' : `cannot edit ${report.file}: `;
    const code = report.file === undefined ? 'INVALID_ARGUMENT' : 'CONFIG_INVALID';
    const byHand = report.byHand === undefined ? '' : ` To do it by hand, add:\n${report.byHand}`;
    return `lookfirst: ${what}${report.reason}${line} [${code}]\nNothing was changed.${byHand.trimEnd()}\n`;
  }
  if (report.did === 'nothing') return unchangedText(report, request);
  const note = report.note === undefined ? '' : `: ${report.note}`;
  return request.dryRun
    ? `would ${report.did} ${report.file}${note}\n${report.diff}\n`
    : `${DONE[report.did]} ${report.file}${note}\n`;
}

function unchangedText(
  { file, note }: { readonly file: string; readonly note?: string },
  { action, dryRun }: Pick<ConfigureRequest, 'action' | 'dryRun'>,
): string {
  if (note !== undefined) return `${dryRun ? 'would leave' : 'left'} ${file} alone: ${note}\n`;
  const why =
    action === 'init' ? 'it already has the entries of Lookfirst' : 'it has no entries of Lookfirst';
  return `nothing to do in ${file}: ${why}\n`;
}
