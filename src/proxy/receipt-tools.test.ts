import { expect, it } from 'vitest';
import type { Rule } from '../dialect/calls/table.ts';
import { parseRecord } from '../wire/rpc.ts';
import { withoutRevision } from './receipt-tools.ts';

it('keeps the id of a call as it is written when it removes the revision', () => {
  const line = Buffer.from(
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"w","arguments":{"path":"a","expected_revision":"r"}}}',
  );
  const call = withoutRevision(line, parseRecord(line), [{ does: 'write' } as Rule]);
  expect(call.revision).toBe('r');
  expect(call.line.toString()).toBe(
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"w","arguments":{"path":"a"}},"id":9007199254740993}',
  );
});
