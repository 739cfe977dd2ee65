import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
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
  writeFileSync(join(places.home, 'lookfirst.json'), '{"hooks": {"snapshot": "off"}}');
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
