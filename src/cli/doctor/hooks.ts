import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { requiredHome } from '../../config/home.ts';
import { errorText } from '../../model/fault.ts';
import { Records } from '../../records/records.ts';
import { unjudgedCalls } from '../../records/status-views.ts';
import { placesOf } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import type { ClientName, ClientPlaces, ConfigScope } from '../clients/client.ts';
import { configText } from '../clients/config-file.ts';
import { hookFiles, isCurrent } from '../clients/hook-files.ts';
import { HOOK_SETTINGS } from '../clients/hook-settings.ts';
import type { Stage } from '../stage.ts';
import { type DoctorCheck, fail, ok, warn } from './state.ts';

const SESSION = 'lookfirst-doctor';

/**
 * For each client: makes the input of its hook for a blind write. A blind write overwrites a file
 * that was never read.
 */
const BLIND_WRITES: readonly (readonly [ClientName, MakeWrite])[] = [
  ['claude-code', (path, cwd) => before(cwd, 'Write', { file_path: path, content: '' })],
  ['codex', (path, cwd) => before(cwd, 'apply_patch', { command: addFile(path) })],
  ['gemini', (path, cwd) => before(cwd, 'write_file', { file_path: path, content: '' }, 'BeforeTool')],
  ['cursor', (path, cwd) => before(cwd, 'Write', { file_path: path, content: '' }, 'preToolUse')],
  ['vscode', (path, cwd) => before(cwd, 'create_file', { filePath: path, content: '' })],
  [
    'opencode',
    (path, cwd) => ({
      event: 'tool.execute.before',
      payload: {
        hook: 'tool.execute.before',
        directory: cwd,
        input: { tool: 'write', sessionID: SESSION, callID: newCall() },
        output: { args: { filePath: path, content: '' } },
      },
    }),
  ],
];

function addFile(path: string): string {
  return `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\n`;
}

/**
 * A new id for each call: the hook treats a second call with the same id as a repetition of the
 * first.
 */
function newCall(): string {
  return `doctor-${randomBytes(5).toString('hex')}`;
}

interface BlindWrite {
  readonly event: string;
  readonly payload: object;
}

type MakeWrite = (path: string, cwd: string) => BlindWrite;

/** An event before a call, with the members of every client: each reads its own. */
function before(cwd: string, tool_name: string, tool_input: object, event = 'PreToolUse'): BlindWrite {
  const call = { hook_event_name: event, tool_name, tool_input, tool_use_id: newCall() };
  const places = { cwd, workspace_roots: [cwd], session_id: SESSION, conversation_id: SESSION };
  return { event, payload: { ...places, ...call } };
}

/** Checks for every client with our hooks whether the configured hook denies a blind write. */
export async function* checkHooks(cli: Cli, stage: Stage): AsyncGenerator<DoctorCheck> {
  const { platform, env, cwd, homeFolder } = cli;
  const places: ClientPlaces = { platform, env, home: requiredHome(homeFolder), project: cwd };
  const home = stateHome(cli);
  if (home === undefined) return;
  for (const [name, blindWrite] of BLIND_WRITES) {
    const subject = `${name} hooks`;
    let file: string | undefined;
    try {
      file = hooksFile(name, places);
    } catch (error) {
      yield warn(subject, errorText(error));
    }
    if (file === undefined) continue;
    const hooked = { name, file, home, stage };
    yield await checkHook(cli, subject, { ...hooked, blindWrite });
    if (HOOK_SETTINGS[name]?.shell !== undefined) yield await checkShell(cli, hooked);
    const [, program = ''] = cli.self;
    if (!isCurrent({ home, program }))
      yield warn(
        subject,
        `the hook calls another copy of Lookfirst; lookfirst init ${name} --hooks updates it`,
      );
  }
}

async function checkHook(
  cli: Cli,
  subject: string,
  { name, file, home, stage, blindWrite }: HookedClient & { readonly blindWrite: MakeWrite },
): Promise<DoctorCheck> {
  const { workspace } = stage;
  try {
    stage.put('hooked.txt', 'one\n');
    const { script } = hookFiles(home);
    const write = blindWrite(`${workspace}/hooked.txt`, workspace);
    const { denied, ms } = await call(cli, name, { script, ...write });
    if (denied) return ok(subject, `a blind write was denied (${ms} ms) through ${file}`);
    return fail(subject, `a blind write passed the hook configured in ${file}`);
  } catch (error) {
    return fail(subject, `the hook configured in ${file} cannot run: ${errorText(error)}`);
  }
}

/** The settings file of a client in which our hooks are; undefined if there is none. */
export function hooksFile(name: ClientName, places: ClientPlaces): string | undefined {
  const scopes: readonly ConfigScope[] = ['project', 'user'];
  return scopes.flatMap((scope) => HOOK_SETTINGS[name]?.file(scope, places) ?? []).find(hasOurHooks);
}

/** A client with our hooks in its settings file. */
interface HookedClient {
  readonly name: ClientName;
  readonly file: string;
  readonly home: string;
  readonly stage: Stage;
}

/**
 * Checks whether a command of the client's shell runs on a layer (a copy-on-write view of the
 * workspace), so that it can be undone.
 */
async function checkShell(cli: Cli, { name, file, home, stage }: HookedClient): Promise<DoctorCheck> {
  const subject = `${name} shell`;
  const { shell, script } = hookFiles(home);
  if (configText(file)?.includes(shell) !== true)
    return warn(
      subject,
      'its commands run without a layer: Lookfirst compares the files before and after each command',
    );
  const { workspace } = stage;
  const command = 'echo layered > by-shell.txt';
  try {
    await call(cli, name, { script, ...before(workspace, 'Bash', { command }) });
    const line = `eval '${command}' < /dev/null && pwd -P >| /dev/null`;
    const env = { ...cli.env, CLAUDE_CODE_SESSION_ID: SESSION };
    const { stderr } = spawnSync(shell, [line], { cwd: workspace, env, encoding: 'utf8' });
    const records = await Records.open(placesOf(cli, {}));
    const filter = { session: SESSION, root: workspace, kinds: ['change'], limit: 1 } as const;
    const [entry] = await records.store.entries(filter).finally(() => records.close());
    if (entry?.text === command) return ok(subject, 'a command ran on a layer and can be undone');
    return warn(subject, `a command ran without a layer${stderr === '' ? '' : `: ${stderr.trim()}`}`);
  } catch (error) {
    return fail(subject, `the prefix ${shell} cannot run: ${errorText(error)}`);
  }
}

/** Reports calls that ran although no hook had judged them before. */
export async function* checkUnjudged(cli: Cli): AsyncGenerator<DoctorCheck> {
  // Report nothing if the state folder or the store cannot be used: another check reports that.
  const home = stateHome(cli);
  const records =
    home === undefined ? undefined : await Records.open(placesOf(cli, {})).catch(() => undefined);
  if (records === undefined) return;
  try {
    const { count, newest } = await unjudgedCalls(records, { nowMs: cli.nowMs });
    if (newest === undefined) return;
    const last = `the last ${cli.age(newest.atMs)} in ${newest.root} (session ${newest.session})`;
    const cure =
      'are the hooks trusted and switched on? Codex: /hooks; Claude Code: /hooks and the trust of the folder';
    yield warn('unjudged calls', `${count} in the last 7 days, ${last}: ${cure}`);
  } finally {
    await records.close();
  }
}

/** The state folder; undefined if it is invalid, which another check reports. */
function stateHome(cli: Cli): string | undefined {
  try {
    return placesOf(cli, {}).home;
  } catch {
    return undefined;
  }
}

function hasOurHooks(path: string): boolean {
  return /lookfirst-(?:hook|opencode)\b/.test(configText(path) ?? '');
}

function call(
  cli: Cli,
  client: string,
  { script, event, payload }: BlindWrite & { readonly script: string },
): Promise<{ denied: boolean; ms: number }> {
  const began = performance.now();
  const {
    CLAUDE_PROJECT_DIR: _claude,
    GEMINI_PROJECT_DIR: _gemini,
    CURSOR_PROJECT_DIR: _cursor,
    ...env
  } = cli.env;
  return new Promise((resolve, reject) => {
    const child = spawn(script, [client, '--event', event], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    let stdout = '';
    child.stdout.on('data', (part: Buffer) => {
      stdout += part.toString('utf8');
    });
    child.stdin.on('error', () => undefined);
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({ denied: code === 2 || /"deny"/.test(stdout), ms: Math.round(performance.now() - began) }),
    );
    child.stdin.end(JSON.stringify(payload));
  });
}
