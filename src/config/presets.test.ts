import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { type Policy, PRESET_NAMES } from '../model/policy.ts';
import { POLICY_FIELDS } from './policy-shape.ts';
import { PRESETS } from './presets.ts';

const SWITCHES = [
  'seen',
  'overwrite',
  'partial',
  'staleness',
  'freshness',
  'compaction',
  'verificationErrors',
  'quotes',
  'placeholders',
  'append',
  'matching',
  'secrets',
  'maxSightings',
] as const;

describe('presets', () => {
  it.each([
    ['default', 'required whole file merge bytes verify refuse code refuse free safe mask 10000'],
    ['strict', 'required whole lines refuse bytes clear refuse code refuse gated safe mask 10000'],
    ['sandbox', 'required any file warn bytes keep refuse off allow gated exact mask 0'],
    ['file-time', 'required any file refuse mtime keep allow off allow gated exact show 0'],
    ['thread-history', 'required any file warn bytes clear refuse off allow gated exact show 0'],
    ['staleness', 'optional any file confirm bytes keep allow all allow free exact show 0'],
  ] as const)('%s has the settings listed here', (name, expected) => {
    const preset = PRESETS[name];
    expect(SWITCHES.map((key) => preset[key]).join(' ')).toBe(expected);
    expect(preset.preset).toBe(name);
  });

  it.each(PRESET_NAMES)('%s keeps every change: durable, journalled, and reported', (name) => {
    const { durability, staleness, bypass, readOnly } = PRESETS[name];
    expect({ durability, bypass, readOnly }).toEqual({
      durability: 'full',
      bypass: [],
      readOnly: false,
    });
    expect(staleness).not.toBe('off');
  });

  it.each(PRESET_NAMES)('%s is complete: it has every field a policy file may set', (name) => {
    const preset: Policy = PRESETS[name];
    expect(Object.keys(preset).sort()).toEqual([...Object.keys(POLICY_FIELDS), 'preset'].sort());
  });
});

describe('protected paths', () => {
  const matches = picomatch([...PRESETS.default.protected], { dot: true, nocase: true });

  it.each([
    '.git/config',
    '.git',
    'sub/.GIT/hooks/pre-commit',
    '.ssh/id_ed25519',
    'keys/id_rsa',
    'certs/server.PEM',
    'home/.aws/credentials',
    '.netrc',
  ])('cover %s', (path) => {
    expect(matches(path)).toBe(true);
  });

  it.each([
    '.env',
    '.npmrc',
    '.gitignore',
    '.github/workflows/ci.yml',
    'src/git/config.ts',
    'id_rsa.pub',
    'i18n/en.key',
    'docs/pem.md',
  ])('do not cover %s, because agents work on it', (path) => {
    expect(matches(path)).toBe(false);
  });
});
