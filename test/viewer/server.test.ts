import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Records } from '../../src/records/records.ts';
import { Scope } from '../../src/records/scope.ts';
import { filePicture } from '../../src/records/view/file-picture.ts';
import type {
  DetailView,
  FeedPage,
  FilePicture,
  FileRow,
  Saves,
  StartView,
  TurnRow,
  UndoView,
} from '../../src/records/view/view-data.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { environment, lookfirst } from '../support/command-line.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { Hooked } from '../support/hooked.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { viewed } from '../support/viewed.ts';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`);
const text = (changes: Readonly<Record<number, string>> = {}): string =>
  `${LINES.map((line, i) => changes[i + 1] ?? line).join('\n')}\n`;

/** Two sessions read a.txt, one changes lines 3 and 15, the other is refused. */
async function scene(): Promise<Desk & { readonly change: string }> {
  const t = await desk({ session: 'coder' });
  const other = await t.open({ session: 'reviewer' });
  await t.put('a.txt', text());
  await t.session.beginTurn({ turn: 'p1', prompt: 'shout' });
  await ok(t.session.read('a.txt'));
  await ok(other.read('a.txt'));
  const { change = '' } = await ok(t.session.write('a.txt', text({ 3: 'THREE', 15: 'FIFTEEN' })));
  await refusal(other.write('a.txt', 'mine\n'), 'STALE');
  await t.session.close();
  await other.close();
  return { ...t, change };
}

/** Runs a shell text in the workspace without the gate. */
function outsideShell(text: string, places: Scratch): void {
  const env = { ...environment(places), GIT_CONFIG_NOSYSTEM: '1' };
  execFileSync('sh', ['-c', text], { cwd: places.root, env, stdio: 'pipe' });
}

/** The status of the answer to a raw request. `fetch` would set Host and Origin itself. */
function status(
  url: string,
  headers: Readonly<Record<string, string>>,
  { method = 'GET', body = '' } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, method }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject).end(body);
  });
}

describe('the viewer refuses a request', () => {
  it.each([
    ['without a token', {}, 401],
    ['with a wrong token', { authorization: `Bearer ${'x'.repeat(43)}` }, 401],
    ['with the token in another form', { authorization: 'TOKEN' }, 401],
    ['with the token', { authorization: 'Bearer TOKEN' }, 200],
    ['through a host name for this machine', { authorization: 'Bearer TOKEN', host: 'evil.example' }, 403],
    ['with another port', { authorization: 'Bearer TOKEN', host: '127.0.0.1:1' }, 403],
    ['from a host page', { authorization: 'Bearer TOKEN', origin: 'http://evil.example' }, 403],
    ['from a page on another port', { authorization: 'Bearer TOKEN', origin: 'http://127.0.0.1:1' }, 403],
    ['from an opaque origin', { authorization: 'Bearer TOKEN', origin: 'null' }, 403],
    ['from another site', { authorization: 'Bearer TOKEN', 'sec-fetch-site': 'cross-site' }, 403],
  ])('%s: %j gives %i', async (_what, headers: Record<string, string>, expected) => {
    const t = await desk();
    const { origin, token } = await viewed(t);
    const sent = Object.entries(headers).map(([name, value]) => [name, value.replace('TOKEN', token)]);
    // The third row sends the token without `Bearer`.
    expect(await status(`${origin}/api/start`, Object.fromEntries(sent))).toBe(expected);
  });

  it.each([
    ['without the token', {}, 401],
    ['as a form of another site', { 'content-type': 'text/plain', origin: 'http://evil.example' }, 403],
    [
      'of another site with the token',
      { authorization: 'Bearer TOKEN', 'sec-fetch-site': 'cross-site' },
      403,
    ],
    ['that is no JSON', { authorization: 'Bearer TOKEN', 'content-type': 'text/plain' }, 400],
  ])('to undo a change %s: %j gives %i, and the file stays', async (_what, more, expected) => {
    const t = await scene();
    const { origin, token } = await viewed(t);
    const sent = { 'content-type': 'application/json', ...more };
    const headers = Object.entries(sent).map(([name, value]) => [name, value.replace('TOKEN', token)]);
    const body = JSON.stringify({ change: t.change });
    const code = await status(`${origin}/api/undo`, Object.fromEntries(headers), { method: 'POST', body });
    expect(code).toBe(expected);
    expect(t.text('a.txt')).toContain('THREE');
  });

  it('but serves the page itself, without data and with a strict content policy, to any local program', async () => {
    const t = await scene();
    const { origin } = await viewed(t);
    for (const name of ['', 'app.js', 'highlight.js', 'app.css', 'icon.svg']) {
      const answer = await fetch(`${origin}/${name}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self';/,
      );
      expect(answer.headers.get('content-security-policy')).not.toContain('unsafe');
      expect(await answer.text()).not.toContain(t.root);
    }
    expect((await fetch(`${origin}/app.css/../../package.json`)).status).toBe(404);
    expect((await fetch(`${origin}/`, { method: 'POST' })).status).toBe(404);
  });

  it('with an error that names no path if a fault occurs, and prints the details for the operator', async () => {
    const t = await scene();
    const v = await viewed(t, { openWorkspace: () => Promise.reject(new Error(`no ${t.root}`)) });
    const { status: code, body } = await v.post<{ error: string }>('undo', { change: t.change });
    expect(code).toBe(500);
    expect(JSON.stringify(body)).not.toContain(t.root);
    expect(v.told.join()).toContain(t.root);
  });
});

describe('the viewer shows', () => {
  it('sessions, turns, files and the feed, with filters', async () => {
    const t = await scene();
    const v = await viewed(t);
    const start = await v.get<StartView>('start');
    expect(start.sessions.map(({ id }) => id).sort()).toEqual(['coder', 'reviewer']);
    expect(await v.get('turns')).toMatchObject([
      { turn: 'p1', words: 'shout', files: ['a.txt'], stands: true },
    ]);
    expect(await v.get('files')).toMatchObject([
      { path: 'a.txt', changes: 1, refusals: 1, writers: ['coder'] },
    ]);
    expect(start.readOnly).toBeUndefined();
    const kinds = async (query: string) =>
      (await v.get<FeedPage>(`feed?${query}`)).rows.map((row) => row.kind);
    expect(await kinds('kind=refusal')).toEqual(['refusal']);
    expect(await kinds('session=reviewer&kind=read')).toEqual(['read']);
    expect(await kinds('code=STALE')).toEqual(['refusal']);
    expect(await kinds('path=nowhere')).toEqual([]);
    expect(await kinds('turn=p1')).toEqual(['change', 'read', 'turn']);
  });

  it("a change with its diff and its session's sighting", async () => {
    const t = await scene();
    const v = await viewed(t);
    const [row] = (await v.get<FeedPage>('feed?kind=change')).rows;
    const view = await v.get<DetailView>(`entry?seq=${row?.seq}`);
    expect(view).toMatchObject({
      canUndo: true,
      facts: [],
      files: [{ path: 'a.txt', added: 2, removed: 2, parts: true }],
    });
    const words = expect.stringContaining('Yes: it had read the whole file as it was');
    expect(view.files[0]?.about).toEqual({ name: 'Had it read the file?', words });
  });

  it('why an edit was refused, which session changed the file, and that the refusal was right', async () => {
    const t = await scene();
    const v = await viewed(t);
    const [row] = (await v.get<FeedPage>('feed?kind=refusal')).rows;
    const view = await v.get<DetailView>(`entry?seq=${row?.seq}`);
    expect(view).toMatchObject({
      canUndo: false,
      facts: [
        { words: expect.stringContaining('had changed since the session read it') },
        { tone: 'right', name: 'Refusing was right.', words: expect.stringContaining('coder') },
        { name: 'What the session had seen', words: expect.stringMatching(/^all lines, /) },
        { name: 'Changed since', rows: [{ session: 'coder' }] },
        { name: 'Next step given', words: expect.stringContaining('read the file again') },
        { name: 'Then', words: 'the session has not tried again.' },
      ],
      files: [{ added: 2, removed: 2 }],
    });
  });

  it('why a call was invalid, without judging what its session had seen', async () => {
    const t = await desk({ session: 'coder' });
    await ok(t.session.write('a.txt', 'text\n'));
    const edit = { oldText: 'text', newText: 'x' } as never;
    await refusal(t.session.edit('a.txt', [edit]), 'INVALID_ARGUMENT');
    const v = await viewed(t);
    const [row] = (await v.get<FeedPage>('feed?kind=refusal')).rows;
    const { facts } = await v.get<DetailView>(`entry?seq=${row?.seq}`);
    expect(facts.map(({ name }) => name)).toEqual([undefined, 'Why', 'Next step given', 'Then']);
  });

  it('what a command destroyed and Lookfirst kept, with what else git changed left out', async () => {
    const places = scratch();
    outsideShell(
      'git init -q && echo one > a.txt && git add . && git -c user.name=a -c user.email=b commit -qm x',
      places,
    );
    outsideShell('echo work >> a.txt && echo notes > notes.md', places);
    const agent = new Hooked(places, { session: 'coder' });
    await agent.prompt('Throw it away');
    await agent.insist('git reset -q --hard && git clean -fdxq');
    const viewer = await viewed(places);
    const { rows } = await viewer.get<FeedPage>('feed');
    const [change, refused] = rows.filter(({ kind }) => kind === 'change' || kind === 'refusal');
    expect(change).toMatchObject({
      destroyed: true,
      what: "run git reset -q --hard && git clean -fdxq (2 files and git's own files)",
    });
    // One of several names would stand for all.
    expect(change).not.toHaveProperty('path');
    expect(rows.filter(({ kind }) => kind === 'notice')).toEqual([]);
    const detail = await viewer.get<DetailView>(`entry?seq=${change?.seq}`);
    expect(detail.row.destroyed).toBe(true);
    expect(detail.files.map(({ path }) => path)).toEqual(['a.txt', 'notes.md']);
    const words = detail.facts.map((fact) => fact.words).join('\n');
    expect(words).toMatch(
      /removed what nothing else holds: a\.txt, notes\.md\. It is kept: lookfirst undo c/,
    );
    expect(words).toContain("Not shown: git's own files.");
    expect(await viewer.get(`counts?seq=${change?.seq}`)).toEqual({
      [change?.seq ?? 0]: { added: 0, removed: 2 },
    });
    expect((await viewer.get<Saves>('saves')).destroyed).toMatchObject([
      { seq: change?.seq, destroyed: true },
    ]);
    expect((await viewer.get<FileRow[]>('files')).map(({ path }) => path)).toEqual(['a.txt', 'notes.md']);
    const [turn] = await viewer.get<TurnRow[]>('turns');
    expect(turn?.files).toEqual(['a.txt', 'notes.md']);
    const { facts } = await viewer.get<DetailView>(`entry?seq=${refused?.seq}`);
    expect(facts.find(({ name }) => name === 'Why')?.words).toBe(
      'git reset -q --hard && git clean -fdxq would destroy a.txt (an uncommitted edit), notes.md (untracked)',
    );
    const { body } = await viewer.post<UndoView>('undo', { change: change?.change, preview: true });
    expect(body).toMatchObject({ ok: true, files: [{ path: 'a.txt' }, { path: 'notes.md' }] });
  });

  it('which session has seen and written which line', async () => {
    const t = await scene();
    const v = await viewed(t);
    const file = await v.get<FilePicture>(`file?root=${encodeURIComponent(t.root)}&path=a.txt`);
    const strip = (session: string) => file.strips.find((each) => each.session === session);
    expect(strip('coder')?.wrote).toEqual([
      { from: 3, to: 3 },
      { from: 15, to: 15 },
    ]);
    expect(file.authors.filter((author) => author >= 0)).toHaveLength(2);
    expect(file.lines[2]).toBe('THREE');
    // The refusal showed the reviewer the whole diff, so nothing is stale.
    expect(strip('reviewer')).toMatchObject({ stale: [], wrote: [] });
  });

  it('what a turn changed', async () => {
    const t = await scene();
    const v = await viewed(t);
    const [turn] = await v.get<readonly TurnRow[]>('turns');
    expect(await v.get<DetailView>(`entry?seq=${turn?.seq}`)).toMatchObject({
      row: { kind: 'turn', what: 'shout' },
      files: [{ path: 'a.txt', added: 2 }],
    });
  });

  it('no file that no session has touched, and none of another workspace', async () => {
    const t = await scene();
    writeFileSync(join(t.root, 'private.txt'), 'private\n');
    const v = await viewed(t);
    const ask = (root: string, path: string) =>
      v.get(`file?root=${encodeURIComponent(root)}&path=${encodeURIComponent(path)}`);
    expect(JSON.stringify(await ask(t.root, 'private.txt'))).not.toContain('private\\n');
    expect(JSON.stringify(await ask('/etc', 'passwd'))).not.toContain('root:');
    expect(JSON.stringify(await ask(t.root, '../../../../etc/passwd'))).not.toContain('root:');
  });

  it('no secrets', async () => {
    const t = await desk({ session: 'coder' });
    const token = `ghp_${'a1B2'.repeat(9)}`;
    await t.put('.env', 'KEY=hidden-value\nNAME=x\n');
    await t.put('code.ts', `const token = "${token}";\nconst a = 1;\n`);
    await ok(t.session.read('.env'));
    await ok(t.session.read('code.ts'));
    await ok(t.session.edit('.env', [{ oldString: 'NAME', newString: 'LABEL' }]));
    const { change } = await ok(t.session.edit('code.ts', [{ oldString: 'a = 1', newString: 'a = 2' }]));
    await t.session.close();
    const v = await viewed(t);
    const seen: unknown[] = [];
    for (const { seq } of (await v.get<FeedPage>('feed?')).rows) seen.push(await v.get(`entry?seq=${seq}`));
    for (const path of ['.env', 'code.ts'])
      seen.push(await v.get(`file?root=${encodeURIComponent(t.root)}&path=${path}`));
    seen.push(await v.post('undo', { change, preview: true }));
    expect(JSON.stringify(seen)).toContain('[masked]');
    expect(JSON.stringify(seen)).not.toContain('hidden-value');
    expect(JSON.stringify(seen)).not.toContain(token);
  });

  it('that there are new entries as they are recorded', async () => {
    const t = await desk({ session: 'coder' });
    const v = await viewed(t);
    const { cursor } = await v.get<StartView>('start');
    expect(await v.get(`live?after=${cursor}`)).toEqual({ cursor, kinds: [] });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await expect.poll(() => v.get(`live?after=${cursor}`)).toMatchObject({ kinds: ['read'] });
  });

  it('a file with few queries, however many sessions the workspace has', async () => {
    const t = await scene();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    const { store, images } = sessions.world;
    for (let i = 0; i < 1000; i += 1)
      await store.record({
        session: { id: `s${i}`, root: t.root, named: true, openedMs: i, lastMs: Date.now() + i },
      });
    let queries = 0;
    const counting = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        queries += 1;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const records = Records.over({ store: counting, images });
    const sources = { records, scope: new Scope({ cwd: t.root }), secrets: 'mask' } as const;
    const { strips } = await filePicture(sources, { root: t.root, path: 'a.txt' });
    expect(strips.map(({ session }) => session).sort()).toEqual(['coder', 'reviewer']);
    expect(queries).toBeLessThan(300);
    await sessions.close();
  });

  it('the root of a file, which may be another folder than the one of the viewer', async () => {
    const t = await scene();
    const inside = join(t.root, 'inside');
    mkdirSync(inside);
    const v = await viewed({ root: inside, home: t.home });
    const rows = (await v.get<FeedPage>('feed?')).rows.filter(
      ({ kind }) => kind === 'read' || kind === 'refusal',
    );
    expect(rows).toHaveLength(3);
    for (const { seq } of rows) expect(await v.get(`entry?seq=${seq}`)).toMatchObject({ root: t.root });
  });
});

describe('the viewer undoes', () => {
  it('a change, one hunk of it, and everything since a prompt; each after a preview that changes nothing', async () => {
    const t = await scene();
    const v = await viewed(t);
    const hunk = { change: t.change, root: t.root, path: 'a.txt', hunk: 1 };
    const preview = await v.post<UndoView>('undo', { ...hunk, preview: true });
    expect(preview.body).toMatchObject({ ok: true, diffs: [{ path: 'a.txt', added: 1, removed: 1 }] });
    expect(t.text('a.txt')).toContain('FIFTEEN');
    await v.post('undo', hunk);
    expect(t.text('a.txt')).toBe(text({ 3: 'THREE' }));
    const [row] = (await v.get<FeedPage>('feed?kind=change')).rows;
    expect(row).toMatchObject({ session: 'viewer:tester', undo: true, what: 'undo of a part' });
    await v.post('undo', { change: row?.change });
    expect(t.text('a.txt')).toBe(text({ 3: 'THREE', 15: 'FIFTEEN' }));
    const [turn] = await v.get<readonly TurnRow[]>('turns');
    expect((await v.post<UndoView>('rewind', { seq: turn?.seq })).body.ok).toBe(true);
    expect(t.text('a.txt')).toBe(text());
  });

  it('files with unprintable names, each with its own diff in the preview', async () => {
    const t = await desk();
    const names = ['b.txt', 'z\u202egnp.txt', 'n\nl.txt'];
    for (const name of names) await t.session.write(name, 'one\n');
    const made = await t.session.apply(
      names.map((path) => ({ kind: 'edit', path, edits: [{ oldString: 'one', newString: 'two' }] })),
    );
    if (!made.ok) throw new Error(made.refusal.code);
    const v = await viewed(t);
    const { body } = await v.post<UndoView>('undo', { change: made.change, preview: true });
    const diffs = body.diffs.map(({ path, added, removed }) => [path, added, removed]);
    expect(diffs.toSorted()).toEqual(names.map((name) => [name, 1, 1]).toSorted());
  });

  it('a link, and not the file that the link leads to', async () => {
    const t = await desk({ session: 'coder' });
    const change = await t.session.announceCommand('ln -s', { call: 'c1' });
    await t.put('real.txt', 'one\n');
    symlinkSync('real.txt', join(t.root, 'link'));
    await ok(t.session.settle(change, 'done'));
    await t.session.close();
    const v = await viewed(t);
    const { body } = await v.post<UndoView>('undo', { change, root: t.root, path: 'link' });
    expect(body).toMatchObject({ ok: true, files: [{ path: 'link', did: 'removed' }] });
    expect(readdirSync(t.root)).toEqual(['real.txt']);
  });

  it('a change although the file changed since, and says what stays', async () => {
    const t = await scene();
    const v = await viewed(t);
    await t.put('a.txt', text({ 3: 'THREE', 9: 'nine', 15: 'FIFTEEN' }));
    const stays = async (): Promise<unknown> =>
      (await v.post<UndoView>('undo', { change: t.change, preview: true })).body;
    expect(await stays()).toMatchObject({
      ok: true,
      files: [{ did: 'merged' }],
      stays: ['What other programs have changed in this file since stays.'],
    });
    const later = await t.open({ session: 'later' });
    await ok(later.read('a.txt'));
    for (const [oldString, newString] of [
      ['line 7', 'seven'],
      ['line 11', 'eleven'],
    ] as const)
      await ok(later.edit('a.txt', [{ oldString, newString }]));
    expect(await stays()).toMatchObject({ ok: true, stays: ['2 later edits of this file stay.'] });
    expect(t.text('a.txt')).toContain('THREE');
    expect((await v.post('undo', { change: t.change })).status).toBe(200);
    expect(t.text('a.txt')).toBe(text({ 7: 'seven', 9: 'nine', 11: 'eleven' }));
  });

  it('nothing if a later change is to the same line, and shows that change', async () => {
    const t = await scene();
    const v = await viewed(t);
    await t.put('a.txt', text({ 3: 'drei', 15: 'FIFTEEN' }));
    const refused = await v.post<UndoView>('undo', { change: t.change });
    expect(refused).toMatchObject({ status: 409, body: { ok: false, code: 'STALE' } });
    expect(refused.body.diffs[0]?.groups.flat().map((row) => row.text)).toContain('drei');
    expect(t.text('a.txt')).toContain('drei');
  });

  it('nothing if it is read-only, the change is unknown, or the request is malformed', async () => {
    const t = await scene();
    const readOnly = await viewed(t, { readOnly: 'several machines share this store' });
    expect((await readOnly.post('undo', { change: t.change })).status).toBe(403);
    expect(await readOnly.get('start')).toMatchObject({ readOnly: 'several machines share this store' });
    const v = await viewed(t);
    expect((await v.post('undo', { change: 'c000' })).status).toBe(404);
    expect((await v.post('undo', { change: 7 })).status).toBe(400);
    expect((await v.post('undo', { change: t.change, hunk: 0 })).status).toBe(400);
    expect((await v.post('rewind', { seq: 1 })).status).toBe(404);
    expect((await v.post('verify', {})).status).toBe(404);
    const headers = { authorization: `Bearer ${v.token}`, 'content-type': 'text/plain' };
    const body = JSON.stringify({ change: t.change });
    expect((await fetch(`${v.origin}/api/undo`, { method: 'POST', headers, body })).status).toBe(400);
    const asked = { headers: { authorization: headers.authorization } };
    expect((await fetch(`${v.origin}/api/file?path=a.txt`, asked)).status).toBe(404);
    expect(t.text('a.txt')).toContain('THREE');
  });
});

describe('beside a server over HTTP', () => {
  it('the viewer has its own token, and neither token works for the other', async () => {
    const t = await scene();
    const served = Served.launch(t, ['serve', t.root, '--http'], { LOOKFIRST_TOKEN: 'for-mcp' });
    await served.client.said('viewer: ');
    const [, origin = '', token = ''] =
      /viewer: (http:\/\/127\.0\.0\.1:\d+)\/#(\S+)/.exec(served.client.errors) ?? [];
    const start = (by: string) =>
      fetch(`${origin}/api/start`, { headers: { authorization: `Bearer ${by}` } });
    expect((await start(token)).status).toBe(200);
    expect((await start('for-mcp')).status).toBe(401);
    const mcp = (by: string) =>
      fetch(`${origin}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${by}` }, body: '{}' });
    expect((await mcp(token)).status).toBe(401);
    expect((await mcp('for-mcp')).status).not.toBe(401);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ change: t.change });
    expect((await fetch(`${origin}/api/undo`, { method: 'POST', headers, body })).status).toBe(200);
    expect(t.text('a.txt')).toBe(text());
    served.client.child.kill('SIGTERM');
    await served.client.exit();
  });
});

it('the page is small: script and style are at most 60 KB compressed, the highlighter besides 16 KB', () => {
  const size = (name: string) =>
    gzipSync(readFileSync(new URL(`../../dist/viewer/page/${name}`, import.meta.url)), { level: 9 })
      .byteLength;
  expect(size('app.js') + size('app.css')).toBeLessThanOrEqual(60 * 1024);
  expect(size('highlight.js')).toBeLessThanOrEqual(16 * 1024);
});

it('refuses to start on a store in memory and on a missing folder', async () => {
  const t = await desk();
  expect((await lookfirst(t, ['view', '--store', 'memory:'])).code).toBe(1);
  expect((await lookfirst(t, ['view', 'nowhere'])).code).toBe(1);
  expect((await lookfirst(t, ['view', '--port', '99999'])).code).toBe(64);
});
