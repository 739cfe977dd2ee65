import { describe, expect, it } from 'vitest';
import { findRipgrep } from '../disk/ripgrep-binary.ts';
import { Fault } from '../model/fault.ts';
import { failureResult } from './failure.ts';

describe('a tool that threw', () => {
  it('is a refusal that tells nothing of the cause', () => {
    const { result } = failureResult('write_file', new Fault('IO_FAILED', 'secret.txt: EIO'));
    expect(JSON.stringify(result)).not.toContain('secret');
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^write_file failed inside the server \[IO_FAILED\]\./) }],
      _meta: { 'dev.lookfirst/outcome': { ok: false, code: 'IO_FAILED', next: 'read_again' } },
    });
  });

  it('for want of ripgrep says so, and does not make anybody look for damage', async () => {
    const nowhere = { packaged: () => Promise.reject(new Error('none')), searchPath: '' };
    const missing = await findRipgrep(nowhere, []).catch((error: unknown) => error);
    const { result } = failureResult('search_text', missing);
    expect(result).toMatchObject({
      isError: true,
      _meta: { 'dev.lookfirst/outcome': { ok: false, code: 'CONFIG_INVALID', next: 'ask_human' } },
    });
    const [{ text } = { text: '' }] = result['content'] as { text: string }[];
    expect(text).toMatch(/ripgrep, which is not installed.*\[CONFIG_INVALID\]/);
    expect(text).not.toMatch(/unknown|again/);
  });
});
