import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { REPLAYED, type Replayed, ReplayedClient, type Replied } from '../support/replayed-client.ts';
import { scratch } from '../support/tree.ts';

interface Mix {
  readonly name: string;
  readonly truth: 'allow' | 'refuse';
  readonly change: 'overwrite' | 'edit' | 'write and edit';
  readonly reading: 'whole' | 'partial' | 'unread' | 'compact';
  outside(file: string): void;
}

const bench = (await import(new URL('../../bench/false-alarms.mjs', import.meta.url).href)) as {
  readonly MIXES: readonly Mix[];
  readonly TEXT: string;
  readonly OLD: string;
  readonly NEW: string;
};

/**
 * The benchmark's mixes (everyday events between a read and a change) that this client can report.
 * Gemini CLI reports no compaction.
 */
function mixesOf(client: Replayed): readonly Mix[] {
  return bench.MIXES.filter(({ reading }) => client !== 'gemini' || reading !== 'compact');
}

it.each(REPLAYED)('%s: everyday mixes cause no wrong refusal and no missed overwrite', async (client) => {
  const places = scratch();
  const agent = new ReplayedClient(places, client);
  const wrong: string[] = [];
  for (const [at, mix] of mixesOf(client).entries()) {
    for (const way of mix.change === 'overwrite' ? (['tool', 'shell'] as const) : (['tool'] as const)) {
      const name = `${way}${at}.txt`;
      writeFileSync(join(places.root, name), bench.TEXT);
      agent.session = name;
      const { denied } = await play(agent, { mix, name, way, file: join(places.root, name) });
      if (denied === (mix.truth === 'allow')) wrong.push(`${mix.name}, by ${way}`);
    }
  }
  expect(wrong).toEqual([]);
});

it('a read that counts from the end and has a limit does not make the file look changed', async () => {
  const places = scratch();
  const agent = new Hooked(places);
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`);
  writeFileSync(join(places.root, 'a.txt'), lines.join(''));
  await agent.read('a.txt', lines.join(''));
  const read = { action: 'read', input: { path: 'a.txt', offset: -20, limit: 5 }, call: 'r' };
  await agent.send({ event: 'after', ...read, output: lines.slice(20, 25).join('') });
  const write = { action: 'write', input: { path: 'a.txt', content: 'new\n' }, call: 'w' };
  expect(await agent.send({ event: 'before', ...write })).toEqual({ verdict: 'pass' });
});

describe('a command that writes a file that is not text', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  let agent: Hooked;

  beforeEach(() => {
    const places = scratch();
    agent = new Hooked(places);
    for (const name of ['p.png', 'q.png']) writeFileSync(join(places.root, name), png);
  });

  it.each(['cp q.png p.png', 'cat q.png > p.png', 'mv q.png p.png', 'echo x > p.png'])(
    '%s: passes after a read of the file, and is refused before it',
    async (command) => {
      expect((await agent.shell(command)).reason).toContain('[NOT_READ]');
      await agent.read('p.png', png.toString('utf8'));
      expect((await agent.shell(command)).verdict).toBe('pass');
    },
  );

  it('cp: passes if the user allows the change', async () => {
    await lookfirst(agent.places, ['allow', 'p.png', '--once']);
    expect((await agent.shell('cp q.png p.png')).verdict).toBe('pass');
  });

  it.each(['cat q.png >> p.png', 'echo x | tee -a p.png'])('%s: passes, as for text', async (command) => {
    expect((await agent.shell(command)).verdict).toBe('pass');
  });
});

it('values of a secret file can be edited if the client itself showed or wrote them', async () => {
  const places = scratch();
  const agent = new Hooked(places);
  const edit = (name: string, old: string) => {
    const file = join(places.root, name);
    const input = { path: name, old_string: old, new_string: `${old}2` };
    const make = () => writeFileSync(file, readFileSync(file, 'utf8').replace(old, `${old}2`));
    return agent.change('edit', input, make);
  };
  for (const name of ['.env', '.env.local', '.env.test'])
    writeFileSync(join(places.root, name), 'TOKEN=abc\nX=1\n');
  await agent.read('.env', 'TOKEN=abc\nX=1\n');
  expect((await edit('.env', 'X=1')).verdict).not.toBe('deny');
  expect((await edit('.env', 'TOKEN=abc')).verdict).not.toBe('deny');
  await agent.read('.env.local', 'TOKEN=[masked]\nX=[masked]\n');
  expect((await edit('.env.local', 'X=1')).verdict).toBe('deny');
  await agent.shell('head -n 1 .env.test');
  expect((await edit('.env.test', 'X=1')).verdict).toBe('deny');
});

async function play(
  agent: ReplayedClient,
  {
    mix,
    name,
    way,
    file,
  }: { readonly mix: Mix; readonly name: string; readonly way: 'tool' | 'shell'; readonly file: string },
): Promise<Replied> {
  const { OLD, NEW, TEXT } = bench;
  if (mix.reading === 'partial') await agent.read(name, { lines: 5 });
  else if (mix.reading !== 'unread') await agent.read(name);
  if (mix.reading === 'compact') await agent.compacted();
  mix.outside(file);
  if (mix.change === 'overwrite')
    return way === 'tool'
      ? agent.write(name, 'replaced\n')
      : agent.shell(`cat > ${name} <<'END'\nreplaced\nEND`);
  if (mix.change === 'write and edit') {
    const written = await agent.write(name, TEXT.replace('line 1:', 'LINE 1:'));
    if (written.denied) return written;
  }
  return agent.edit(name, `${OLD}\n`, `${NEW}\n`);
}
