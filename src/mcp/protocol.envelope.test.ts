import { describe, expect, it } from 'vitest';
import { envelopeOf, implementationOf } from './protocol.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const INFO = 'io.modelcontextprotocol/clientInfo';

describe('envelopeOf', () => {
  it.each<[string, object, unknown]>([
    ['no _meta', {}, 'none'],
    ['_meta without a claim', { _meta: { progressToken: 1, [CAPABILITIES]: {} } }, 'none'],
    ['_meta that is no object', { _meta: [VERSION] }, 'none'],
    ['a whole envelope', { _meta: { [VERSION]: '2026-07-28', [CAPABILITIES]: {} } }, 'modern'],
    ['a version that is no string', { _meta: { [VERSION]: 2026, [CAPABILITIES]: {} } }, -32602],
    ['no capabilities', { _meta: { [VERSION]: '2026-07-28' } }, -32602],
    ['capabilities in an array', { _meta: { [VERSION]: '2026-07-28', [CAPABILITIES]: [] } }, -32602],
    [
      'half a client',
      { _meta: { [VERSION]: '2026-07-28', [CAPABILITIES]: {}, [INFO]: { name: 'x' } } },
      -32602,
    ],
    ['a newer revision', { _meta: { [VERSION]: '2027-01-01', [CAPABILITIES]: {} } }, -32022],
    ['an older revision', { _meta: { [VERSION]: '2025-11-25', [CAPABILITIES]: {} } }, -32022],
  ])('%s', (_what, params, expected) => {
    const envelope = envelopeOf({ ...params });
    expect(envelope.kind === 'invalid' ? envelope.error.code : envelope.kind).toBe(expected);
  });

  it('names the supported and the requested revision', () => {
    const envelope = envelopeOf({ _meta: { [VERSION]: '2027-01-01', [CAPABILITIES]: {} } });
    expect(envelope).toMatchObject({
      error: { data: { supported: ['2026-07-28'], requested: '2027-01-01' } },
    });
  });
});

describe('implementationOf', () => {
  it.each<[unknown, unknown]>([
    [
      { name: 'n', version: '1', title: 'N', icons: [] },
      { name: 'n', version: '1', title: 'N' },
    ],
    [
      { name: 'n', version: '1' },
      { name: 'n', version: '1' },
    ],
    [{ name: 'n' }, undefined],
    [undefined, undefined],
    ['n', undefined],
  ])('%j', (value, expected) => {
    expect(implementationOf(value)).toEqual(expected);
  });
});
