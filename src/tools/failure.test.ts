import { describe, expect, it } from 'vitest';
import { findRipgrep } from '../disk/ripgrep.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import { failureAnswer } from './failure.ts';

describe('a tool that threw', () => {
  it('is refused without revealing the cause', () => {
    const answer = failureAnswer('write_file', new Fault('IO_FAILED', 'secret.txt: EIO'));
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(answer).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^write_file failed inside the server \[IO_FAILED\]\./),
      outcome: { ok: false, code: 'IO_FAILED', next: 'read_again' },
    });
  });

  it.each([
    [
      'EACCES',
      'ask_human',
      /^write_file failed: could not change a\/b: no \[IO_FAILED\]\. .* Tell the user\.$/,
    ],
    ['EBUSY', 'ask_human', /Tell the user\.$/],
    [
      'ENOENT',
      'read_again',
      /^write_file failed: could not change a\/b: no \[IO_FAILED\]\. .* Read the file again/,
    ],
  ])('because of the system error %s names it, for the requested path', (reason, next, said) => {
    const fault = new Fault('IO_FAILED', 'could not change a/b: no', { path: 'a/b', reason });
    expect(failureAnswer('write_file', fault)).toMatchObject({
      text: expect.stringMatching(said),
      outcome: { ok: false, code: 'IO_FAILED', next },
    });
    const text = expect.stringContaining('Nothing was changed. ');
    expect(failureAnswer('write_file', nothingChanged(fault))).toMatchObject({ text });
  });

  it.each([
    [
      'full',
      true,
      'ask_human',
      /^write_file failed: the disk of the state folder is full \[STORE_FAILED\]\. Nothing was changed\. Tell the user\.$/,
    ],
    ['busy', true, 'retry_later', /locked for too long.*Nothing was changed\. Try again in a moment\.$/],
    ['lost', false, 'read_again', /truncated while in use.*whether anything changed is unknown/],
    [
      'other',
      true,
      'ask_human',
      /^write_file failed inside the server \[STORE_FAILED\]\. Nothing was changed/,
    ],
  ])('because the store failed (%s) names the cause without a path', (reason, unchanged, next, said) => {
    const fault = new Fault('STORE_FAILED', '/secret.db failed', { reason, unchanged, path: '/secret.db' });
    const answer = failureAnswer('write_file', fault);
    expect(answer).toMatchObject({
      text: expect.stringMatching(said),
      outcome: { code: 'STORE_FAILED', next },
    });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });

  it('because ripgrep is missing says so, and does not suggest that anything changed', async () => {
    const nowhere = { packaged: () => Promise.reject(new Error('none')), searchPath: '' };
    const missing = await findRipgrep(nowhere, []).catch((error: unknown) => error);
    const answer = failureAnswer('search_text', missing);
    expect(answer).toMatchObject({
      ok: false,
      outcome: { ok: false, code: 'CONFIG_INVALID', next: 'ask_human' },
    });
    const text = answer.ok ? '' : answer.text;
    expect(text).toMatch(/ripgrep, which is not installed.*\[CONFIG_INVALID\]/);
    expect(text).not.toMatch(/unknown|again/);
  });
});
