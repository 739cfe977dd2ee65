import { describe, expect, it } from 'vitest';
import { findPerl, PERL } from './perl-sandbox.ts';

describe('Perl builds sandboxes', () => {
  it('on processors whose system calls are known', () => {
    expect(findPerl('x64', {})).toEqual({ program: PERL, calls: [272, 165, 157, 231, 250] });
    expect(findPerl('riscv64', {})).toBeUndefined();
  });

  it('unless it is switched off, or a variable would change how it starts', () => {
    expect(findPerl('x64', { LOOKFIRST_SANDBOX: 'bubblewrap' })).toBeUndefined();
    expect(findPerl('x64', { PERL5OPT: '-Mstrict' })).toBeUndefined();
  });
});
