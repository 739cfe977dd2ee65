import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { PostgresConnection } from '../../src/store/postgres/connection.ts';
import { ok } from '../support/desk.ts';
import { describePostgres, type PostgresServer } from '../support/postgres.ts';
import { scratch } from '../support/tree.ts';
import { printedOn } from './machine.ts';

const project = join(import.meta.dirname, '../..');
const DOCUMENT = readFileSync(join(project, 'docs/fleet.md'), 'utf8');

function blocks(language: string): readonly string[] {
  return [...DOCUMENT.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}

const COMPOSE = readFileSync(join(project, 'compose.yaml'), 'utf8');

function composeValue(pattern: RegExp): string {
  const [, value = ''] = pattern.exec(COMPOSE) ?? [];
  expect(value, String(pattern)).not.toBe('');
  return value;
}

/**
 * Creates an empty database with the name from compose.yaml on the tests' server, and returns its
 * URL. The server requires no password.
 */
async function composed(server: PostgresServer): Promise<string> {
  const db = await PostgresConnection.open(server.url());
  onTestFinished(() => db.close());
  await db.query('drop database if exists lookfirst');
  await db.query('create database lookfirst');
  const url = new URL(server.url());
  url.pathname = '/lookfirst';
  url.searchParams.delete('schema');
  return url.href;
}

await describePostgres('docs/fleet.md', (server) => {
  it('names the user, password, database and port of compose.yaml', () => {
    const user = composeValue(/POSTGRES_USER: (\w+)/);
    const password = composeValue(/POSTGRES_PASSWORD: (\w+)/);
    const database = composeValue(/POSTGRES_DB: (\w+)/);
    const port = composeValue(/"127\.0\.0\.1:(\d+):5432"/);
    expect(blocks('sh').join()).toContain(`=postgres://${user}:${password}@localhost:${port}/${database}\n`);
    expect(composeValue(/pg_isready ([^"]+)/)).toContain(`-U ${user} -d ${database}`);
  });

  it('starts with commands that work', async () => {
    const store = await composed(server);
    const places = scratch();
    const commands = blocks('sh')
      .join('')
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, ''))
      .filter((line) => line.startsWith('lookfirst '))
      .map((line) => line.replace('/path/to/project', places.root).split(' ').slice(1));
    expect(commands).toHaveLength(2);
    const [doctor = [], serve = []] = commands;
    expect(await printedOn({ ...places, store }, ...serve)).toContain(`serving ${places.root}`);
    const checked = await printedOn({ ...places, store }, ...doctor);
    for (const word of ['PostgreSQL', 'schema', 'clock']) expect(checked).toContain(word);
  });

  it('names commands that work on the store of a fleet', async () => {
    const store = await composed(server);
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    const sessions = await Sessions.open({ roots: [places.root], home: places.home, store, workspace: 'w' });
    const session = await sessions.session('agent');
    await session.checkpoint('begin');
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    await sessions.close();
    const shown: Readonly<Record<string, readonly (readonly [string[], string])[]>> = {
      log: [
        [['log'], 'a.txt'],
        [['log', '--json', '--all'], '"workspace":"w"'],
        [['log', '--verify'], 'unbroken'],
      ],
      status: [
        [['status'], 'agent'],
        [['status', '--json', '--all'], '"agent"'],
      ],
      sessions: [[['sessions', '--json'], '"machine"']],
      rewind: [[['rewind'], 'begin']],
      undo: [[['undo'], 'a.txt']],
      gc: [[['gc'], 'removed']],
    };
    const texts = [...DOCUMENT.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
    const named = texts.flatMap((text) => text.match(/^(?:lookfirst )?([a-z]+)\b/)?.[1] ?? []);
    // This test runs the commands in `shown`. The test above runs `doctor` and `serve`, and the
    // server's own tests run `serve --http`.
    const run = Object.keys(shown);
    expect(named).toEqual(expect.arrayContaining(run));
    const commands = texts.filter((text) => text.startsWith('lookfirst ')).map((text) => text.split(' ')[1]);
    expect([...run, 'doctor', 'serve']).toEqual(expect.arrayContaining([...new Set(commands)]));
    for (const [args, word] of Object.values(shown).flat())
      expect(await printedOn({ ...places, store }, ...args), args.join(' ')).toContain(word);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('gives roles that can do what it says, and no more', async () => {
    const store = await composed(server);
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\ntwo\n');
    await printedOn({ ...places, store }, 'log');
    const db = await PostgresConnection.open(store);
    onTestFinished(() => db.close());
    for (const statement of blocks('sql').join('').split(';')) await db.query(statement);
    const as = (role: string): string => store.replace('lookfirst@', `${role}@`);
    const open = { roots: [places.root], home: places.home };
    const sessions = await Sessions.open({ ...open, store: as('lookfirst_writer') });
    const session = await sessions.session('agent');
    await ok(session.read('a.txt'));
    await ok(session.edit('a.txt', [{ oldString: 'two', newString: 'zwei' }]));
    await sessions.close();
    expect(
      await printedOn({ ...places, store: as('lookfirst_reader') }, 'log', '--kind', 'change'),
    ).toContain('a.txt');
    expect(await printedOn({ ...places, store: as('lookfirst_reader') }, 'log', '--verify')).toContain(
      'unbroken',
    );
    for (const role of ['lookfirst_writer', 'lookfirst_reader']) {
      const connection = await PostgresConnection.open(as(role));
      onTestFinished(() => connection.close());
      for (const statement of ['delete from lookfirst.entries', 'update lookfirst.chains set n = 0'])
        await expect(connection.query(statement)).rejects.toMatchObject({ reason: 'read-only' });
    }
    await expect(Sessions.open({ ...open, store: as('lookfirst_reader'), workspace: 'w' })).rejects.toThrow(
      'rights of a writer',
    );
  });
});
