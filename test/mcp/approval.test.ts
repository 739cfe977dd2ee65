import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { connectionHere, Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

type Era = 'legacy' | 'modern';
/** `http-posts`: the client opens no event stream of its own. */
type Transport = 'stdio' | 'http' | 'http-posts';
type Action = 'accept' | 'decline' | 'cancel';

const TOKEN = 'a-token-for-tests';
const CASES: [Transport, Era][] = [
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['http', 'legacy'],
  ['http-posts', 'legacy'],
  ['http', 'modern'],
];

interface Scene {
  readonly places: Scratch;
  readonly client: Client;
  call(name: string, args: Record<string, unknown>): Promise<string>;
  text(path: string): string;
}

const NO_FORM = 'none';

/**
 * A server whose policy requires approval for the paths in `approve`, and an official client.
 * `user` plays the client's user, who answers the server's questions.
 */
async function scene(
  transport: Transport,
  era: Era,
  user: ((message: string) => Promise<Action> | Action) | typeof NO_FORM,
  approve: readonly string[] = ['deploy/**'],
): Promise<Scene> {
  const places = scratch();
  mkdirSync(join(places.root, 'deploy'));
  writeFileSync(join(places.root, 'deploy/prod.yaml'), 'replicas: 1\nimage: a\n');
  writeFileSync(join(places.root, 'other.txt'), 'other\n');
  writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ approve }));
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: user === NO_FORM ? {} : { elicitation: {} },
      versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
    },
  );
  if (user !== NO_FORM)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await user(params.message),
    }));
  await client.connect(
    transport === 'stdio' ? connectionHere(places, [places.root]) : await http(places, transport),
  );
  onTestFinished(() => client.close());
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: args });
    const [block] = content;
    return block?.type === 'text' ? block.text : '';
  };
  const text = (path: string): string => readFileSync(join(places.root, path), 'utf8');
  await call('read_file', { path: 'deploy/prod.yaml' });
  await call('read_file', { path: 'other.txt' });
  return { places, client, call, text };
}

async function http(
  places: Scratch,
  transport: Exclude<Transport, 'stdio'>,
): Promise<StreamableHTTPClientTransport> {
  const served = Served.launchHere(places, [places.root, '--http'], { LOOKFIRST_TOKEN: TOKEN });
  await served.client.said('token: ');
  const url = /serving at (\S+)/.exec(served.client.errors)?.[1] ?? '';
  const posts: typeof fetch = async (at, init) =>
    init?.method === 'GET' ? new Response(null, { status: 405 }) : fetch(at, init);
  return new StreamableHTTPClientTransport(new URL(`${url}/agent`), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
    ...(transport === 'http' ? {} : { fetch: posts }),
  });
}

const EDIT = { path: 'deploy/prod.yaml', old_string: 'replicas: 1', new_string: 'replicas: 9' };
const OTHER = { path: 'other.txt', old_string: 'other', new_string: 'another' };

describe('the question', () => {
  it('names a whole action', async () => {
    const asked: string[] = [];
    const { call } = await scene('stdio', 'legacy', (message) => {
      asked.push(message);
      return 'accept';
    });
    await call('insert_lines', { path: 'deploy/prod.yaml', content: 'x: 1' });
    expect(asked[0]).toContain('Allow the agent to insert into "deploy/prod.yaml"? ');
  });
});

describe.each(CASES)('approval over %s, %s client', (transport, era) => {
  it('shows the user the diff and makes the change that was accepted', async () => {
    const asked: string[] = [];
    const { places, call, text } = await scene(transport, era, (message) => {
      asked.push(message);
      return 'accept';
    });
    expect(await call('edit_file', EDIT)).toContain('replaced 1 occurrence');
    expect(text('deploy/prod.yaml')).toBe('replicas: 9\nimage: a\n');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain('edit "deploy/prod.yaml"');
    expect(asked[0]).toContain('-replicas: 1');
    expect(asked[0]).toContain('+replicas: 9');
    const log = objects(await lookfirst(places, ['log', '--json']));
    expect(log.filter(({ kind }) => kind === 'bypass')).toMatchObject([{ text: 'approved by the user' }]);
    expect(log.filter(({ kind }) => kind === 'refusal')).toEqual([]);
    // An approval is valid for one change, so the next change needs another approval.
    const again = { ...EDIT, old_string: 'replicas: 9', new_string: 'replicas: 10' };
    expect(await call('edit_file', again)).toContain('replaced 1 occurrence');
    expect(asked).toHaveLength(2);
    await call('edit_file', OTHER);
    expect(asked).toHaveLength(2);
  });

  it.each<Action>(['decline', 'cancel'])('changes nothing after %s, and says so', async (action) => {
    const { call, text } = await scene(transport, era, () => action);
    const answer = await call('edit_file', EDIT);
    expect(answer).toContain('refusing to edit deploy/prod.yaml: the user declined this change [PROTECTED]');
    expect(answer).toContain('do not repeat the call');
    expect(text('deploy/prod.yaml')).toBe('replicas: 1\nimage: a\n');
  });

  it('refuses for a client that cannot ask its user', async () => {
    const { call, text } = await scene(transport, era, NO_FORM);
    expect(await call('edit_file', EDIT)).toContain('ask the user to run `lookfirst allow');
    expect(text('deploy/prod.yaml')).toBe('replicas: 1\nimage: a\n');
  });

  it('asks again if the result would differ from the one shown', async () => {
    const asked: string[] = [];
    const { places, call, text } = await scene(transport, era, (message) => {
      if (asked.push(message) === 1)
        writeFileSync(join(places.root, 'deploy/prod.yaml'), 'replicas: 1\nimage: b\n');
      return 'accept';
    });
    expect(await call('edit_file', EDIT)).toContain('replaced 1 occurrence');
    expect(asked).toHaveLength(2);
    expect(text('deploy/prod.yaml')).toBe('replicas: 9\nimage: b\n');
  });

  it('refuses an accepted overwrite if the file changed after the question', async () => {
    const { places, call, text } = await scene(transport, era, () => {
      writeFileSync(join(places.root, 'deploy/prod.yaml'), 'replicas: 7\n');
      return 'accept';
    });
    expect(await call('write_file', { path: EDIT.path, content: 'new\n' })).toContain('[STALE]');
    expect(text('deploy/prod.yaml')).toBe('replicas: 7\n');
  });

  it('serves other calls while it waits for the user', async () => {
    let answer: (action: Action) => void = () => {};
    let show = (): void => {};
    const shown = new Promise<void>((resolve) => {
      show = resolve;
    });
    const { call, text } = await scene(transport, era, () => {
      show();
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    const waiting = call('edit_file', EDIT);
    await shown;
    expect(await call('edit_file', OTHER)).toContain('replaced 1 occurrence');
    expect(text('deploy/prod.yaml')).toBe('replicas: 1\nimage: a\n');
    answer('accept');
    expect(await waiting).toContain('replaced 1 occurrence');
    expect(text('deploy/prod.yaml')).toBe('replicas: 9\nimage: a\n');
  });
});

describe('a change of several paths', () => {
  it('asks for each of many files', async () => {
    const asked: string[] = [];
    const { call, text } = await scene('stdio', 'legacy', (message) => {
      asked.push(message);
      return 'accept';
    });
    const changes = Array.from({ length: 7 }, (_, index) => ({
      path: `deploy/${index}.yaml`,
      content: 'x\n',
    }));
    expect(await call('apply_changes', { changes })).toContain('changed 7 files');
    expect(asked).toHaveLength(7);
    expect(text('deploy/6.yaml')).toBe('x\n');
  });

  it.each(['deploy/prod.yaml', '**/*.yaml', 'live/prod.yaml'])(
    'asks before a folder with %s is moved',
    async (glob) => {
      const asked: string[] = [];
      let answer: Action = 'decline';
      const user = (message: string): Action => {
        asked.push(message);
        return answer;
      };
      const { call, text } = await scene('stdio', 'legacy', user, [glob]);
      const move = { source: 'deploy', destination: 'live' };
      expect(await call('move_path', move)).toContain('the user declined this change [PROTECTED]');
      expect(asked[0]).toMatch(/move "(deploy|live)\/prod.yaml"/);
      expect(text('deploy/prod.yaml')).toBe('replicas: 1\nimage: a\n');
      answer = 'accept';
      expect(await call('move_path', move)).toContain('moved deploy to live');
      expect(text('live/prod.yaml')).toBe('replicas: 1\nimage: a\n');
    },
  );
});

describe('a move between two paths that need approval', () => {
  it.each([
    {
      source: 'deploy/prod.yaml',
      destination: 'deploy/live.yaml',
      named: '"deploy/prod.yaml" to "deploy/live.yaml"',
    },
    { source: 'deploy', destination: 'live', named: '"deploy/prod.yaml" to "live/prod.yaml"' },
  ])('asks once and names both: $named', async ({ named, ...move }) => {
    const asked: string[] = [];
    const user = (message: string): Action => {
      asked.push(message);
      return 'accept';
    };
    const { call } = await scene('stdio', 'legacy', user, ['**/*.yaml']);
    expect(await call('move_path', move)).toContain('moved deploy');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(`move ${named}?`);
  });
});

describe('an answer that belongs to no question', () => {
  it('approves nothing: neither an invented state nor the state of another call', async () => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'a\n');
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ approve: ['*.txt'] }));
    const { client } = Served.launchHere(places, [places.root]);
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    };
    const call = async (name: string, args: object, more: object = {}) => {
      const params = { name, arguments: args, _meta: envelope, ...more };
      return (await client.request('tools/call', params)).result ?? {};
    };
    const accepted = { inputResponses: { approval: { action: 'accept' } } };
    await call('read_file', { path: 'a.txt' });
    const first = { path: 'a.txt', content: 'b\n' };
    const asked = await call('write_file', first, { ...accepted, requestState: 'invented' });
    expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const { requestState } = asked;
    const other = await call('write_file', { ...first, content: 'c\n' }, { ...accepted, requestState });
    expect(other).toMatchObject({ resultType: 'input_required' });
    const late = await call('write_file', first, { ...accepted, requestState });
    expect(late).toMatchObject({ resultType: 'input_required' });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('a\n');
    const done = await call('write_file', first, { ...accepted, requestState: late['requestState'] });
    expect(done).toMatchObject({ resultType: 'complete' });
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('b\n');
  });
});
