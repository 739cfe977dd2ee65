import { describe, expect, it } from 'vitest';
import { PRESETS } from './presets.ts';
import { type PolicySources, parsePolicyFile, resolvePolicy } from './resolve-policy.ts';

const file = (settings: object): NonNullable<PolicySources['file']> =>
  parsePolicyFile(JSON.stringify(settings));

describe('resolvePolicy', () => {
  it.each<[string, PolicySources, object]>([
    ['nothing said is the default preset', {}, { preset: 'default', staleness: 'merge' }],
    ['the file names a preset', { file: file({ preset: 'strict' }) }, { preset: 'strict' }],
    [
      'a preset from the command line wins over the file, whose fields still hold',
      { preset: 'sandbox', file: file({ preset: 'strict', ttlMs: 5 }) },
      { preset: 'sandbox', matching: 'exact', ttlMs: 5 },
    ],
    [
      'the file wins over the preset, flags over the file',
      { file: file({ ttlMs: 5, maxAnswerBytes: 7 }), flags: { ttlMs: 9 } },
      { ttlMs: 9, maxAnswerBytes: 7 },
    ],
    [
      'journal fields override one by one',
      { file: file({ journal: { quotaBytes: 3 } }) },
      { journal: { quotaBytes: 3, retentionMs: PRESETS.default.journal.retentionMs } },
    ],
    ['bypass is the operator’s own list', { flags: { bypass: ['gen/**'] } }, { bypass: ['gen/**'] }],
  ])('%s', (_rule, sources, expected) => {
    expect(resolvePolicy(sources)).toMatchObject(expected);
  });

  it.each<[unknown, string]>([
    [{ stalenes: 'refuse' }, 'policy: unknown key "stalenes"; did you mean "staleness"?'],
    [{ staleness: 'maybe' }, '"staleness" must be one of "refuse"'],
    [{ ttlMs: '5' }, '"ttlMs" must be a whole number'],
    [{ protected: 'secret' }, '"protected" must be an array'],
    [{ journal: { quota: 1 } }, 'did you mean "journal.quotaBytes"?'],
    [{ protected: ['a', 'C:/me/a.txt'] }, '"C:/me/a.txt" must be relative to the workspace folder'],
    [{ approve: ['~/a.txt'] }, 'approve: "~/a.txt" must be relative'],
    [{ approve: ['a/../b'] }, 'approve: "a/../b" must be relative'],
    [{ approve: ['+(a|aa)'] }, 'the glob "+(a|aa)" cannot be used: a group that repeats must have plain'],
    [{ bypass: [{ paths: ['*(a*)'] }] }, 'the glob "*(a*)" cannot be used'],
    [{ preset: 'strict' }, 'unknown key "preset"'],
    [null, 'policy: the settings must be an object, not null'],
    ['strict', 'policy: the settings must be an object'],
  ])('checks the settings of a program like those of a file: %j', (flags, problem) => {
    // Pass values that a program without type checks could pass.
    const sources = { flags } as PolicySources;
    expect(() => resolvePolicy(sources)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => resolvePolicy(sources)).toThrow(problem);
  });

  it('an undefined setting keeps the value of the preset', () => {
    const flags: object = { staleness: undefined, readOnly: undefined, journal: { quotaBytes: undefined } };
    expect(resolvePolicy({ flags } as PolicySources)).toEqual(PRESETS.default);
  });

  it.each([
    ['sandbx', 'did you mean "sandbox"?'],
    ['toString', 'known are default, strict'],
    ['__proto__', 'known are'],
    [5, 'known are'],
  ])('rejects the preset %j', (preset, hint) => {
    const sources = { preset } as PolicySources;
    expect(() => resolvePolicy(sources)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => resolvePolicy(sources)).toThrow(hint);
  });

  it('adds to the protected globs, and removes one only if it is named', () => {
    const { protected: globs } = resolvePolicy({ file: file({ protected: ['secret/**', '!**/*.pem'] }) });
    expect(globs).toContain('secret/**');
    expect(globs).toContain('**/.ssh/**');
    expect(globs).not.toContain('**/*.pem');
  });

  it('reports a glob to be removed that the preset does not have', () => {
    expect(() => resolvePolicy({ file: file({ protected: ['!**/*.pm'] }) })).toThrow(
      'protected: "!**/*.pm" removes an entry that the preset does not have; did you mean "!**/*.pem"?',
    );
  });

  it('adds to the paths that commands do not see, and removes one only if it is named', () => {
    const { hide } = resolvePolicy({ file: file({ commands: { hide: ['~/notes', '!~/.npmrc'] } }) }).commands;
    expect(hide).toContain('~/notes');
    expect(hide).toContain('~/.ssh');
    expect(hide).not.toContain('~/.npmrc');
    expect(() => resolvePolicy({ flags: { commands: { hide: ['!~/.npmr'] } } })).toThrow(
      'commands.hide: "!~/.npmr" removes an entry that the preset does not have; did you mean "!~/.npmrc"?',
    );
  });

  it('does not change the presets', () => {
    const before = JSON.stringify(PRESETS);
    resolvePolicy({ file: file({ protected: ['x'], journal: { quotaBytes: 1 } }), flags: { ttlMs: 1 } });
    expect(JSON.stringify(PRESETS)).toBe(before);
  });
});
