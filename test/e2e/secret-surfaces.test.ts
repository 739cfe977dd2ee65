import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { FeedPage, TurnRow } from '../../src/records/view/view-data.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { everySecond, IS_LONG } from '../support/rounds.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';
import { viewed } from '../support/viewed.ts';

const here = await sandboxHere();

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A pseudo-random value of `length` characters from `alphabet`, different for each `seed`. It
 * begins with `a7B`, so that it contains a digit and letters of both cases.
 */
function unique(seed: number, length: number, alphabet = `${LETTERS}0123456789`): string {
  let state = seed + 1;
  const chars = Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return alphabet[(state >> 8) % alphabet.length];
  });
  return `a7B${chars.join('')}`.slice(0, length);
}

const HEX = '0123456789abcdef';

/**
 * A file, and a function that puts a secret value into the file's text. `length` and `alphabet`:
 * the form of that value.
 */
type Row = readonly [path: string, line: (value: string) => string, length?: number, alphabet?: string];

const ROWS: Readonly<Record<string, Row>> = {
  '.env': ['.env', (v) => `TOKEN=${v}`],
  '.env.local with a comment sign': ['.env.local', (v) => `TOKEN=x#${v}`],
  '.npmrc': ['.npmrc', (v) => `//registry.example.com/:_authToken=${v}`],
  '.netrc': ['.netrc', (v) => `machine example.com login me password ${v}`],
  '.pgpass': ['.pgpass', (v) => `*:*:*:*:${v}`],
  '.htpasswd': ['.htpasswd', (v) => `joe:$apr1$${v}`],
  '.git-credentials': ['.git-credentials', (v) => `https://joe:${v}@example.com`],
  id_rsa: [
    'id_rsa',
    (v) => `-----BEGIN OPENSSH PRIVATE KEY-----\n${v}\n-----END OPENSSH PRIVATE KEY-----`,
    70,
  ],
  'PEM file': ['server.pem', (v) => `-----BEGIN PRIVATE KEY-----\n${v}\n-----END PRIVATE KEY-----`, 64],
  'file of one key': ['master.key', (v) => v, 32],
  'credentials.json in one line': ['credentials.json', (v) => `{"a":{"type":"x","secret":"${v}"}}`],
  'list in YAML': ['secrets.yml', (v) => `tokens:\n  - ${v}`],
  'block in YAML': ['secrets.yaml', (v) => `key: |\n  ${v}`],
  'Docker configuration': ['.docker/config.json', (v) => `{"auths":{"example.com":{"auth":"${v}"}}}`],
  kubeconfig: ['.kube/config', (v) => `    client-key-data: ${v}`],
  'Terraform variables': ['terraform.tfvars', (v) => `db_password = "${v}"`],
  'AWS credentials': ['.aws/credentials', (v) => `aws_secret_access_key = ${v}`, 40],
  'GitHub token': ['a1.ts', (v) => `const t = 'ghp_${v}';`, 36],
  'AWS key': ['a2.ts', (v) => `secretAccessKey: '${v}',`, 40],
  'Anthropic key': ['a3.ts', (v) => `key('sk-ant-api03-${v}')`, 40],
  'Twilio key': ['a4.ts', (v) => `SK${v}`.slice(0, 34), 32, HEX],
  'password in an address': ['a5.ts', (v) => `connect('postgres://app:${v}@db/x')`],
  'bearer token': ['a6.ts', (v) => `{ authorization: 'Bearer ${v}' }`, 40],
  'Slack webhook': ['a7.ts', (v) => `https://hooks.slack.com/services/T0123ABCD/B0123ABCD/${v}`, 24],
  'Azure key': ['a8.ts', (v) => `AccountKey=${v}==;`, 86],
  'private key in a source': [
    'a9.ts',
    (v) => `-----BEGIN RSA PRIVATE KEY-----\n${v}\n-----END RSA PRIVATE KEY-----`,
    64,
  ],
  'private key in one line': ['b1.ts', (v) => `'-----BEGIN PRIVATE KEY-----\\n${v}\\n'`, 64],
};

interface Planted {
  readonly path: string;
  readonly lines: string;
  readonly changed: string;
  /**
   * Parts of the file's two secret values: the one before its change and the one after it. No
   * output may contain any of these parts.
   */
  readonly needles: readonly string[];
}

function plant(root: string): Readonly<Record<string, Planted>> {
  const planted = everySecond(Object.entries(ROWS)).map(
    ([name, [path, line, length = 24, alphabet]], index) => {
      const values = [0, 1].map((which) => {
        const value = unique(2 * index + which, length, alphabet);
        return alphabet === HEX ? value.toLowerCase().replace('b', 'c') : value;
      });
      const [first = '', second = ''] = values.map(line);
      const needles = values.map((value) => value.slice(6, 20));
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), textOf(first));
      return [name, { path, lines: first, changed: second, needles }] as const;
    },
  );
  return Object.fromEntries(planted);
}

const textOf = (lines: string): string => `# note one\n${lines}\n# note two\n# note three\n`;

/** The outputs that quote lines with secrets. Each of them must contain a mask. */
const MASKED = [
  'read page STALE search blame diff hook rewind viewer'.split(' '),
  ['batch of reads', 'dry run', 'refused undo', 'undo preview'],
  here === undefined ? [] : ['command output', 'diff of a command'],
].flat();

/** Everything that was printed, by the name of the tool or command that printed it. */
type Outputs = Map<string, string>;

function keeper(outputs: Outputs): (surface: string, output: unknown) => void {
  return (surface, output) => {
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    outputs.set(surface, `${outputs.get(surface) ?? ''}\n${text}`);
  };
}

async function useTools(places: Scratch, files: readonly Planted[], outputs: Outputs): Promise<void> {
  const keep = keeper(outputs);
  const served = await Served.start(places, here === undefined ? [] : ['--allow-commands']);
  const call = async (surface: string, tool: string, args: object) => {
    const answer = await served.call(tool, args);
    keep(surface, answer.result);
    return answer;
  };
  await call('refused edit of an unread file', 'edit_file', {
    path: '.env',
    old_string: 'a',
    new_string: 'b',
  });
  for (const { path, lines } of files) {
    await call('read', 'read_file', { path });
    await call('page', 'read_file', { path, offset: 2, limit: 1 });
    await call('page', 'read_file', { path, offset: 3, limit: 1 });
    const near = lines.slice(0, -3);
    await call('NO_MATCH', 'edit_file', { path, old_string: `${near} and more`, new_string: 'x' });
    await call('NO_MATCH', 'edit_file', { path, old_string: '# note onee\nnothing', new_string: 'x' });
    await call('AMBIGUOUS_MATCH', 'edit_file', { path, old_string: '# note', new_string: 'x' });
    await call('file status', 'file_status', { path });
    const changes = [{ path, edits: [{ old_string: '# note two', new_string: '# dry' }] }];
    await call('dry run', 'apply_changes', { changes, dry_run: true });
    await call('overwrite', 'write_file', { path, content: 'x\n' });
  }
  await call('batch of reads', 'read_file', { paths: files.map(({ path }) => path) });
  await call('search', 'search_text', { pattern: '.', glob: '**/*', mode: 'lines' });
  for (const { path } of files)
    for (const mode of ['lines', 'files', 'count'])
      await call('search', 'search_text', { pattern: 'note one', path, mode, context: 3 });
  const open: string[] = [];
  for (const { path, lines, changed } of files) {
    const edit = { path, old_string: '# note one', new_string: '# NOTE ONE' };
    const { text } = await call('edit beside a value', 'edit_file', edit);
    const live = readFileSync(join(places.root, path), 'utf8');
    if (!text.includes('PROTECTED')) {
      expect(live).toContain('# NOTE ONE');
      open.push(path);
    }
    writeFileSync(
      join(places.root, path),
      live.replace(lines, () => changed),
    );
    await call('edit after an outside change', 'edit_file', {
      path,
      old_string: '# note two',
      new_string: '# two',
    });
    const again = readFileSync(join(places.root, path), 'utf8').replace('# note three', '# changed');
    writeFileSync(
      join(places.root, path),
      again.replace('# two', '# 2').replace(changed, () => `${lines}\n${changed}`),
    );
    await call('STALE', 'edit_file', { path, old_string: '# note three', new_string: '# three' });
    await call('refused undo', 'undo_change', { path });
    await call('merged undo', 'undo_change', { path, merge: true });
    appendFileSync(join(places.root, path), '# note four\n');
    await call('notice of an outside change', 'read_file', { path });
  }
  if (here !== undefined) {
    const all = files.map(({ path }) => `'${path}'`).join(' ');
    await call('command output', 'run_command', { command: `cat ${all}` });
    expect(open.length).toBeGreaterThan(files.length / 2);
    const command = `for f in ${open.join(' ')}; do sed -i 's/# note four/# four/; 2s/^/ /' $f; done`;
    await call('diff of a command', 'run_command', { command });
    const progress = { name: 'run_command', arguments: { command: `cat ${all}; sleep 1; cat ${all}` } };
    const meta = { _meta: { progressToken: 'p' } };
    const { result } = await served.client.request('tools/call', { ...progress, ...meta });
    keep('command output', result);
  }
  served.client.child.stdin.end();
  const { rest } = await served.client.exit();
  keep('notifications', rest);
  keep('stderr of the server', served.client.errors);
}

async function useHooks(places: Scratch, files: readonly Planted[], outputs: Outputs): Promise<void> {
  const keep = keeper(outputs);
  const hooked = new Hooked(places, { session: 'hooked' });
  await hooked.prompt('first');
  for (const { path, lines, changed } of files) {
    const before = readFileSync(join(places.root, path), 'utf8');
    keep('hook', await hooked.read(path, before));
    const back = before.includes(lines) ? [lines, changed] : [changed, lines];
    const after = before.replace(back[0] ?? '', () => back.join('\n'));
    writeFileSync(join(places.root, path), after.replace(/# (note )?four/, '# other'));
    const input = { path, old_string: before.match(/# (note )?four/)?.[0], new_string: '# FOUR' };
    keep('hook', await hooked.send({ event: 'before', action: 'edit', input, call: `x-${path}` }));
    keep('hook', await hooked.prompt(`about ${path}`));
  }
  const names = files.map(({ path }) => path).join(' ');
  // A script, because a hook refuses a command line that writes to a protected file.
  const script = `for f in ${names}; do sed -n 2,3p $f >> $f; done; cat ${names} > /dev/null\n`;
  writeFileSync(join(places.root, 'change.sh'), script);
  keep('hook', await hooked.shell('sh change.sh'));
  keep('hook', await hooked.prompt('last'));
}

async function useCommandLine(places: Scratch, files: readonly Planted[], outputs: Outputs): Promise<void> {
  const keep = keeper(outputs);
  const commands = [
    'log --limit 0',
    'log --json --limit 0',
    'diff',
    'audit --observed',
    'status',
    'sessions',
    'claims',
  ];
  for (const line of commands) keep(line.split(' ')[0] ?? '', await lookfirst(places, line.split(' ')));
  const ids = new Set(outputs.get('log')?.match(/\bc[0-9a-f]{10}\b/g));
  expect(ids.size).toBeGreaterThan(files.length);
  const shows = [
    (id: string) => ['diff', id],
    (id: string) => ['diff', id, '--json'],
    (id: string) => ['undo', id, '--dry-run'],
    (id: string) => ['undo', id, '--dry-run', '--merge'],
  ];
  // `npm run attack` tests every way to show each change, and `npm test` one way for each change.
  for (const [index, id] of [...ids].entries())
    for (const show of IS_LONG ? shows : shows.slice(index % 4, (index % 4) + 1)) {
      const args = show(id);
      keep(args[0] === 'diff' ? 'diff' : 'undo preview', await lookfirst(places, args));
    }
  for (const { path } of files) {
    keep('blame', await lookfirst(places, ['blame', path]));
    keep('status', await lookfirst(places, ['status', path]));
  }
  const turns = await lookfirst(places, ['rewind', '--json']);
  keep('rewind', turns);
  for (const { turn } of objects(turns))
    keep('rewind', await lookfirst(places, ['rewind', String(turn), '--all', '--dry-run']));
}

async function useViewer(places: Scratch, files: readonly Planted[], outputs: Outputs): Promise<void> {
  const keep = (output: unknown) => keeper(outputs)('viewer', output);
  const view = await viewed(places);
  keep(await view.get('start'));
  const { rows } = await view.get<FeedPage>('feed?');
  keep(rows);
  for (const { seq } of rows) keep(await view.get(`entry?seq=${seq}`));
  for (const { path } of files)
    keep(await view.get(`file?root=${encodeURIComponent(places.root)}&path=${encodeURIComponent(path)}`));
  for (const change of new Set(outputs.get('log')?.match(/\bc[0-9a-f]{10}\b/g)))
    keep(await view.post('undo', { change, preview: true }));
  for (const { seq } of await view.get<readonly TurnRow[]>('turns')) {
    keep(await view.get(`entry?seq=${seq}`));
    keep(await view.post('rewind', { seq, preview: true }));
  }
}

it('no surface shows the value of a secret', async () => {
  const places = scratch();
  const planted = plant(places.root);
  const files = Object.values(planted);
  const outputs: Outputs = new Map();
  await useTools(places, files, outputs);
  await useHooks(places, files, outputs);
  await useCommandLine(places, files, outputs);
  await useViewer(places, files, outputs);
  const leaks = [...outputs].flatMap(([surface, output]) =>
    Object.entries(planted)
      .filter(([, { needles }]) => needles.some((needle) => output.includes(needle)))
      .map(([name]) => `${surface}: ${name}`),
  );
  expect(leaks).toEqual([]);
  // If an output contains no mask, the test did not reach the code that masks it.
  expect(MASKED.filter((surface) => !outputs.get(surface)?.includes('[masked]'))).toEqual([]);
});
