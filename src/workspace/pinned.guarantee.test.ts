import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { atLeast, strongestGuarantee } from './pinned.ts';
import { Workspace } from './workspace.ts';

describe('guarantee', () => {
  it('is `walk` on Linux unless the weaker one is forced, and `best-effort` elsewhere', () => {
    vi.stubEnv('LOOKFIRST_GUARANTEE', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(strongestGuarantee()).toBe(process.platform === 'linux' ? 'walk' : 'best-effort');
    vi.stubEnv('LOOKFIRST_GUARANTEE', 'best-effort');
    expect(strongestGuarantee()).toBe('best-effort');
  });

  it.each([
    ['walk', 'walk', true],
    ['walk', 'best-effort', true],
    ['best-effort', 'best-effort', true],
    ['best-effort', 'walk', false],
  ] as const)('%s satisfies %s: %s', (have, asked, enough) => {
    expect(atLeast(have, asked)).toBe(enough);
  });

  it('weaker than required refuses to open a workspace', () => {
    const open = (): Workspace => Workspace.open([scratch().root], { use: 'best-effort', require: 'walk' });
    expect(open).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', reason: 'guarantee' }));
  });

  it('is reported by the workspace', () => {
    const workspace = Workspace.open([scratch().root], { use: 'best-effort' });
    expect(workspace.guarantee).toBe('best-effort');
    workspace.close();
  });
});
