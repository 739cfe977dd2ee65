import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { RawClient, type Wire } from '../support/raw-client.ts';

const CHILD = fileURLToPath(new URL('../children/tool-server.mjs', import.meta.url));
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
};
const INITIALIZE = [
  'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
] as const;
const call = (name: string, args: object = {}, meta?: object) =>
  ['tools/call', { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }] as const;
type Step = readonly [method: string, params?: object];

/** The answers to requests sent one by one. Omits error texts, which differ from the SDK's. */
async function converse(mode: 'stdio' | 'sdk', steps: readonly Step[]): Promise<unknown[]> {
  const client = new RawClient([CHILD, mode]);
  const answers: unknown[] = [];
  for (const [method, params] of steps) {
    const { result, error }: Wire = await client.request(method, params);
    answers.push(error === undefined ? result : { code: error.code, supported: supportedOf(error.data) });
  }
  return answers;
}

function supportedOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'supported' in data ? data.supported : undefined;
}

describe('the stdio loop answers as the official SDK does', () => {
  it.each<[string, readonly Step[]]>([
    [
      'to a legacy client',
      [
        INITIALIZE,
        ['ping'],
        ['tools/list'],
        ['logging/setLevel', { level: 'info' }],
        ['resources/list'],
        ['resources/templates/list'],
        ['prompts/list'],
        [
          'completion/complete',
          { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } },
        ],
        ['no/such/method'],
        call('echo', { value: 'é"\n' }),
        call('bytes', { value: 'é"\n\u0001' }),
        call('structured', { value: 'x' }),
        call('refuse'),
        call('fail'),
        call('nope'),
        call('who', {}, { progressToken: 3, 'dev.lookfirst/session': 's' }),
        ['server/discover', { _meta: ENVELOPE }],
      ],
    ],
    [
      'to an old client',
      [['initialize', { ...INITIALIZE[1], protocolVersion: '2024-11-05' }], ['tools/list']],
    ],
    ['to a client of an unknown revision', [['initialize', { ...INITIALIZE[1], protocolVersion: '1.0' }]]],
    ['to a client that does not initialize', [['tools/list'], call('echo', { value: 1 })]],
    [
      'to a modern client',
      [
        ['server/discover', { _meta: ENVELOPE }],
        ['tools/list', { _meta: ENVELOPE }],
        call('echo', { value: 'é"\n' }, ENVELOPE),
        call('structured', { value: 'é"\n\u0001' }, ENVELOPE),
        call('refuse', {}, ENVELOPE),
        call('fail', {}, ENVELOPE),
        call('nope', {}, ENVELOPE),
        ['ping', { _meta: ENVELOPE }],
        ['resources/list', { _meta: ENVELOPE }],
        ['logging/setLevel', { level: 'info', _meta: ENVELOPE }],
        ['tools/list'],
        ['ping'],
        INITIALIZE,
      ],
    ],
    [
      'to a probe that falls back',
      [['server/discover', { _meta: ENVELOPE }], INITIALIZE, ['tools/list'], call('echo', { value: 1 })],
    ],
    [
      'to a client of a later revision',
      [
        [
          'server/discover',
          { _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-07-28' } },
        ],
        ['tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }],
      ],
    ],
  ])('%s', async (_what, steps) => {
    const [ours, theirs] = await Promise.all([converse('stdio', steps), converse('sdk', steps)]);
    expect(ours).toEqual(theirs);
  });
});
