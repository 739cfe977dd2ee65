import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DialectName } from '../../src/dialect/tool.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { GENERIC } from '../../src/hooks/hosts/generic.ts';
import type { Policy, PresetName } from '../../src/model/policy.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { noticeTexts } from '../../src/report/describe-notice.ts';
import { explain } from '../../src/report/explain.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession } from '../../src/session/sessions.ts';
import { giveAway, ORDINARY, ordinaryNode } from '../support/nobody.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { type Answer, answerIn, Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** The ways to use Lookfirst in which a scene is tested by default. */
export const DOORS = ['library', 'server', 'proxy', 'hooks'] as const;
/**
 * A way to use Lookfirst. `library`: calls in this process. `server`: `lookfirst serve`. `proxy`:
 * the official filesystem server behind `lookfirst proxy`. `hooks`: a program with its own file
 * tools that asks Lookfirst before each change and reports afterwards.
 */
export type Door = (typeof DOORS)[number];

/** The answer to a call. `text` is what a model reads. */
export interface Said {
  readonly ok: boolean;
  readonly text: string;
  readonly code: string | undefined;
}

/** An agent that calls Lookfirst in one of the ways of `Door`. Paths are relative to the root. */
interface Agent {
  read(path: string, lines?: number): Promise<Said>;
  write(path: string, content: string): Promise<Said>;
  edit(path: string, from: string, to: string): Promise<Said>;
  /**
   * Inserts lines; appends them if `afterLine` is missing. The official filesystem server behind
   * the proxy has no such tool.
   */
  insert(path: string, content: string, afterLine?: number): Promise<Said>;
  list(path: string): Promise<Said>;
  /** The text of a search result. With the proxy, the official filesystem server searches file names only. */
  search(pattern: string): Promise<Said>;
  /** Runs a shell command. The official filesystem server behind the proxy has no such tool. */
  run(command: string): Promise<Said>;
  /** Shows what an edit would change, and changes nothing. Needs the official server or its dialect. */
  dryRun(path: string, from: string, to: string): Promise<Said>;
  /** Calls any tool of a server by its name. */
  call(tool: string, args: object): Promise<Said>;
  /** Reports that the model's context was summarised. */
  compacted(): Promise<void>;
}

export interface Scene extends Scratch, Agent {
  readonly door: Door;
  /** Another agent with its own name, which uses Lookfirst in the same way. */
  as(session: string): Promise<Agent>;
  /** A new process (in the library: a new session) on the same folder and state. */
  restarted(session?: string): Promise<Agent>;
  /** Writes a file from outside, as an editor would. */
  put(path: string, content: string): void;
  text(path: string): string;
  has(path: string): boolean;
  /**
   * A path in the spelling of refusals: absolute with the proxy, otherwise relative to the root.
   */
  named(path: string): string;
}

export interface SceneOptions {
  readonly preset: PresetName;
  /** The family of tools (dialect) that the server offers. Default: Lookfirst's own tools. */
  readonly dialect?: DialectName;
  readonly policy?: Partial<Policy>;
  /** `ordinary`: processes run without root's rights. Ignored by the library, which runs in the test's own process. */
  readonly user?: 'ordinary';
}

/**
 * Defines one test for each way to use Lookfirst in `doors` (default: `DOORS`). Each test plays the
 * scene.
 */
export function through(
  title: string,
  options: SceneOptions & { readonly doors?: readonly Door[] },
  play: (scene: Scene) => Promise<void>,
): void {
  describe(title, () => {
    it.each(options.doors ?? DOORS)('%s', async (door) => play(await openScene(door, options)));
  });
}

/** Expects a refusal with this code; a failure shows the actual answer. */
export async function refused(answer: Promise<Said>, code: string): Promise<string> {
  const said = await answer;
  expect(said.ok ? 'allowed' : said.code, said.text).toBe(code);
  return said.text;
}

/** Expects success; a failure shows the refusal. */
export async function allowed(answer: Promise<Said>): Promise<string> {
  const said = await answer;
  expect(said.ok, said.text).toBe(true);
  return said.text;
}

export async function openScene(door: Door, options: SceneOptions): Promise<Scene> {
  const places = scratch();
  if (options.policy !== undefined)
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify(options.policy));
  if (options.user === 'ordinary') giveAway(places.base, places.root, places.home, places.outside);
  const start = STARTS[door];
  const as = await start(places, options);
  return {
    ...places,
    ...(await as()),
    door,
    as,
    restarted: async (session) => (await start(places, options))(session),
    put: (path, content) => {
      mkdirSync(dirname(join(places.root, path)), { recursive: true });
      writeFileSync(join(places.root, path), content);
      if (options.user === 'ordinary') giveAway(join(places.root, path));
    },
    text: (path) => readFileSync(join(places.root, path), 'utf8'),
    has: (path) => existsSync(join(places.root, path)),
    named: (path) => (door === 'proxy' ? join(places.root, path) : path),
  };
}

type Enter = (session?: string) => Promise<Agent>;

const STARTS: Readonly<Record<Door, (places: Scratch, options: SceneOptions) => Promise<Enter>>> = {
  library: async (places, { preset, policy = {} }) => {
    return async (session) => {
      const opened = await openSession({
        roots: [places.root],
        home: places.home,
        preset,
        policy,
        ...(session === undefined ? {} : { session }),
      });
      onTestFinished(() => opened.close());
      return libraryAgent(opened, preset);
    };
  },
  hooks: async (places, { preset }) => {
    const around = { env: { LOOKFIRST_HOME: places.home }, platform: process.platform, cwd: places.root };
    const door = new HookDoor(around, { preset });
    onTestFinished(() => door.close());
    return async (session = 'hooked') => hookedAgent(door, places.root, session);
  },
  server: async (places, { preset, user, dialect = 'lookfirst' }) => {
    const args = ['--preset', preset, '--dialect', dialect, '--allow-commands'];
    if (user === undefined) {
      const served = await Served.here(places, args);
      return async (session) =>
        callingAgent(served, SERVER_CALLS[dialect] ?? SERVER_CALLS.lookfirst, session);
    }
    const served = Served.launch(places, ['serve', places.root, ...args], {}, ORDINARY);
    await served.hello();
    return async (session) => callingAgent(served, SERVER_CALLS[dialect] ?? SERVER_CALLS.lookfirst, session);
  },
  proxy: async (places, { preset, user }) => {
    const { root } = places;
    const node = user === undefined ? process.execPath : ordinaryNode();
    const args = ['--root', root, '--preset', preset, '--', node, OFFICIAL, root];
    if (user === undefined) {
      const served = await Served.proxyHere(places, args);
      return async (session) => callingAgent(served, officialCalls(root), session);
    }
    const served = Served.launch(places, ['proxy', ...args], {}, ORDINARY);
    await served.hello();
    return async (session) => callingAgent(served, officialCalls(root), session);
  },
};

function libraryAgent(session: GatedSession, wording: PresetName): Agent {
  const said = async (
    outcome: Promise<Outcome<object>>,
    text: (result: object) => string = noticesIn(wording),
  ): Promise<Said> => {
    const settled = await outcome;
    if (settled.ok) return { ok: true, text: text(settled), code: undefined };
    const { refusal } = settled;
    return { ok: false, text: explain(refusal, { wording, nowMs: Date.now() }), code: refusal.code };
  };
  return {
    read: (path, limit) =>
      said(session.read(path, limit === undefined ? {} : { limit }), (read) =>
        String(Reflect.get(read, 'text')),
      ),
    write: (path, content) => said(session.write(path, content)),
    edit: (path, oldString, newString) => said(session.edit(path, [{ oldString, newString }])),
    insert: (path, content, afterLine) =>
      said(session.insert(path, content, afterLine === undefined ? {} : { afterLine })),
    list: (path) => said(session.list(path), JSON.stringify),
    search: (pattern) => said(session.search(pattern), JSON.stringify),
    run: (command) => said(session.run(command), JSON.stringify),
    dryRun: (path, oldString, newString) =>
      said(session.preview([{ kind: 'edit', path, edits: [{ oldString, newString }] }]), JSON.stringify),
    call: () => expect.fail('the library has no tools here'),
    compacted: () => session.compacted(),
  };
}

function noticesIn(wording: PresetName): (result: object) => string {
  return (result) =>
    'notices' in result && Array.isArray(result.notices)
      ? noticeTexts(result.notices, '', { wording }).join('\n')
      : '';
}

/**
 * A program with its own file tools: it asks Lookfirst before each change, makes the change, and
 * reports it.
 */
function hookedAgent(door: HookDoor, root: string, session: string): Agent {
  const send = (event: 'before' | 'after', tool: string, call: { input: object; output?: unknown }) => {
    const { input, output } = call;
    const payload = {
      event,
      action: tool,
      session,
      cwd: root,
      input,
      ...(output === undefined ? {} : { output }),
    };
    const understood = GENERIC.understand(payload);
    if (understood.kind === 'malformed') return expect.fail(understood.reason);
    return door.respond({ host: GENERIC, cwd: root, roots: [root], state: {} }, understood);
  };
  const change = async (tool: string, input: { readonly path: string }, text: (old: string) => string) => {
    const asked = await send('before', tool, { input });
    if (asked.verdict === 'deny') return denied(asked.reason);
    const path = join(root, input.path);
    writeFileSync(path, text(existsSync(path) ? readFileSync(path, 'utf8') : ''));
    const told = await send('after', tool, { input });
    const context = told.verdict === 'pass' ? (told.context ?? '') : '';
    return { ok: true, text: `${asked.context ?? ''}${context}`, code: undefined };
  };
  const shell = async (tool: string, input: { readonly command: string }): Promise<Said> => {
    const asked = await send('before', tool, { input });
    if (asked.verdict === 'deny') return denied(asked.reason);
    const { stdout: output } = spawnSync('sh', ['-c', input.command], { cwd: root, encoding: 'utf8' });
    await send('after', tool, { input, output });
    return { ok: true, text: output, code: undefined };
  };
  const none = (): never => expect.fail('not with hooks');
  return {
    read: async (path) => {
      if (!existsSync(join(root, path))) return { ok: false, text: 'no such file', code: undefined };
      const output = readFileSync(join(root, path), 'utf8');
      await send('after', 'read', { input: { path }, output });
      return { ok: true, text: output, code: undefined };
    },
    write: (path, content) => change('write', { path, content } as { path: string }, () => content),
    edit: (path, from, to) => {
      const input = { path, old_string: from, new_string: to };
      return change('edit', input, (old) => old.replace(from, () => to));
    },
    insert: none,
    list: async (path) => {
      const output = readdirSync(join(root, path)).join('\n');
      return { ok: true, text: output, code: undefined };
    },
    search: async (pattern) => {
      const { stdout: output } = spawnSync('grep', ['-rn', pattern, '.'], { cwd: root, encoding: 'utf8' });
      await send('after', 'search', { input: { pattern, path: '.' }, output });
      return { ok: true, text: output, code: undefined };
    },
    run: (command) => shell('run', { command }),
    dryRun: none,
    call: none,
    compacted: async () =>
      void (await door.respond(
        { host: GENERIC, cwd: root, roots: [root], state: {} },
        { kind: 'compacted', session, cwd: root },
      )),
  };
}

function denied(reason: string): Said {
  return { ok: false, text: reason, code: /\[([A-Z_]+)\]/.exec(reason)?.[1] ?? codeByWords(reason) };
}

/** The code of a denial in the words of a preset, which do not contain the code. */
function codeByWords(reason: string): string | undefined {
  if (/Read it first|been read in this/.test(reason)) return 'NOT_READ';
  if (/old_string not found/.test(reason)) return 'NO_MATCH';
  return /modified since|modified externally/.test(reason) ? 'STALE' : undefined;
}

type Call = readonly [tool: string, args: object];

/** The agent's operations as calls of a server. */
interface Calls {
  readonly read: (path: string, lines?: number) => Call;
  readonly write: (path: string, content: string) => Call;
  readonly edit: (path: string, from: string, to: string) => Call;
  readonly insert: (path: string, content: string, afterLine?: number) => Call;
  readonly list: (path: string) => Call;
  readonly search: (pattern: string) => Call;
  readonly run: (command: string) => Call;
  readonly dryRun: (path: string, from: string, to: string) => Call;
}

const LOOKFIRST: Calls = {
  read: (path, limit) => ['read_file', { path, limit }],
  write: (path, content) => ['write_file', { path, content }],
  edit: (path, old_string, new_string) => ['edit_file', { path, old_string, new_string }],
  insert: (path, content, after_line) => ['insert_lines', { path, content, after_line }],
  list: (path) => ['list_directory', { path }],
  search: (pattern) => ['search_text', { pattern }],
  run: (command) => ['run_command', { command }],
  dryRun: () => expect.fail('only the official server and its dialect have a dry run of unread files'),
};

const SERVER_CALLS: Readonly<Partial<Record<DialectName, Calls>>> & { readonly lookfirst: Calls } = {
  lookfirst: LOOKFIRST,
  sandbox: {
    ...LOOKFIRST,
    read: (file_path, limit) => ['Read', { file_path, limit }],
    write: (file_path, content) => ['Write', { file_path, content }],
    edit: (file_path, old_string, new_string) => ['Edit', { file_path, old_string, new_string }],
    search: (pattern) => ['Grep', { pattern, output_mode: 'content' }],
    run: (command) => ['Bash', { command }],
  },
  filesystem: officialCalls('.'),
  lace: {
    ...LOOKFIRST,
    read: (path, endLine) => ['file_read', { path, endLine }],
    write: (path, content) => ['file_write', { path, content }],
    edit: (path, old_text, new_text) => ['file_edit', { path, edits: [{ old_text, new_text }] }],
    insert: (path, content, line) => ['file_insert', { path, content, line }],
    list: (path) => ['file_list', { path }],
    search: (pattern) => ['ripgrep_search', { pattern }],
  },
};

function officialCalls(root: string): Calls {
  const at = (path: string): string => join(root, path);
  return {
    read: (path, head) => ['read_text_file', { path: at(path), head }],
    write: (path, content) => ['write_file', { path: at(path), content }],
    edit: (path, oldText, newText) => ['edit_file', { path: at(path), edits: [{ oldText, newText }] }],
    insert: () => expect.fail('the official server has no tool that inserts'),
    list: (path) => ['list_directory', { path: at(path) }],
    search: (pattern) => ['search_files', { path: root, pattern }],
    run: () => expect.fail('the official server runs no commands'),
    dryRun: (path, oldText, newText) => [
      'edit_file',
      { path: at(path), edits: [{ oldText, newText }], dryRun: true },
    ],
  };
}

function callingAgent(served: Served, calls: Calls, session: string | undefined): Agent {
  const meta = session === undefined ? undefined : { 'dev.lookfirst/session': session };
  const call = async ([tool, args]: Call): Promise<Said> => said(await served.call(tool, args, meta));
  return {
    read: (path, lines) => call(calls.read(path, lines)),
    write: (path, content) => call(calls.write(path, content)),
    edit: (path, from, to) => call(calls.edit(path, from, to)),
    insert: (path, content, afterLine) => call(calls.insert(path, content, afterLine)),
    list: (path) => call(calls.list(path)),
    search: (pattern) => call(calls.search(pattern)),
    run: (command) => call(calls.run(command)),
    dryRun: (path, from, to) => call(calls.dryRun(path, from, to)),
    call: (tool, args) => call([tool, args]),
    compacted: async () => {
      const params = meta === undefined ? {} : { _meta: meta };
      served.client.send({ jsonrpc: '2.0', method: 'notifications/dev.lookfirst/compacted', params });
    },
  };
}

function said({ ok, text, outcome }: Answer): Said {
  return { ok, text, code: ok ? undefined : String(outcome['code']) };
}

/**
 * A process of `lookfirst serve --http` or `lookfirst proxy --http`. Calls use a revision of MCP
 * that has no sessions, so the URL names the session.
 */
export class HttpDoor {
  readonly #url: string;
  readonly #token: string;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  static async open(places: Scratch, command: 'serve' | 'proxy'): Promise<HttpDoor> {
    const { root } = places;
    const token = 'test-token';
    const args =
      command === 'serve'
        ? ['serve', root, '--http', '0']
        : ['proxy', '--http', '0', '--root', root, '--', process.execPath, OFFICIAL, root];
    const { client } = Served.launch(places, args, { LOOKFIRST_TOKEN: token });
    await client.said('/mcp');
    const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(client.errors)?.[0];
    return new HttpDoor(url ?? expect.fail(client.errors), token);
  }

  /** Calls a tool. `name` is the end of the URL, which names the session: `/one`, or `''` for none. */
  async call(name: string, tool: string, args: object): Promise<Said> {
    const version = '2026-07-28';
    const response = await fetch(`${this.#url}${name}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: tool,
          arguments: args,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': version,
            'io.modelcontextprotocol/clientCapabilities': {},
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          },
        },
      }),
    });
    const body = await response.text();
    const json = JSON.parse(body.startsWith('{') ? body : (/^data: (.*)$/m.exec(body)?.[1] ?? body));
    expect(json.result, body).toBeDefined();
    return said(answerIn(json.result));
  }
}
