import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok, refusal } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

describe('lookfirst config', () => {
  it('shows the store without its password', async () => {
    const { stdout } = await lookfirst(scratch(), ['config', '--store', 'postgres://me:hidden@host/db']);
    expect(stdout).toContain('postgres://me@host/db');
    expect(stdout).not.toContain('hidden');
  });

  it('lists every setting with value, origin and meaning', async () => {
    const places = scratch();
    const settings = objects(await lookfirst(places, ['config', '--json', '--preset', 'strict']));
    expect(settings).toContainEqual({
      key: 'home',
      value: places.home,
      origin: 'environment',
      meaning: 'the state folder',
    });
    expect(settings).toContainEqual(
      expect.objectContaining({ key: 'preset', value: 'strict', origin: 'flag' }),
    );
    for (const setting of settings)
      expect(setting).toEqual({
        key: expect.stringMatching(/^\w+(\.\w+)?$/),
        value: expect.anything(),
        origin: expect.stringMatching(/^(flag|environment|file|preset|default)$/),
        meaning: expect.stringMatching(/^\S.*\S$/),
      });
    expect((await lookfirst(places, ['config'])).stdout).toMatch(/^SETTING +VALUE +FROM +MEANING\n/);
  });

  it('prints the JSON schema that editors check a policy file with', async () => {
    const { stdout } = await lookfirst(scratch(), ['config', 'schema']);
    expect(objects(await lookfirst(scratch(), ['config', 'schema', '--json']))).toEqual([JSON.parse(stdout)]);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'object',
      properties: { partial: { enum: ['lines', 'file'] } },
    });
  });

  it('prints one setting, and suggests the nearest name for an unknown one', async () => {
    const places = scratch();
    expect((await lookfirst(places, ['config', 'get', 'partial'])).stdout).toBe('file\n');
    writeFileSync(join(places.home, 'lookfirst.json'), '{ "partial": "lines" }');
    expect(objects(await lookfirst(places, ['config', 'get', 'partial', '--json']))).toMatchObject([
      { key: 'partial', value: 'lines', origin: 'file' },
    ]);
    const wrong = await lookfirst(places, ['config', 'get', 'partail']);
    expect(wrong).toMatchObject({ code: 64, stdout: '' });
    expect(wrong.stderr).toContain('Did you mean partial?');
    expect((await lookfirst(places, ['config', 'get'])).code).toBe(64);
  });
});

describe('lookfirst version and --color', () => {
  it.each([['version'], ['-v'], ['--version']])('%s prints the version', async (word) => {
    expect((await lookfirst(scratch(), [word])).stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it('colours the output with --color always, even if it is not a terminal', async () => {
    const t = await desk({ session: 'a' });
    await ok(t.session.write('a.txt', 'x'));
    const plain = await lookfirst(t, ['log']);
    const coloured = await lookfirst(t, ['log', '--color', 'always']);
    expect(plain.stdout).not.toContain('\u001b[');
    expect(coloured.stdout).toContain('\u001b[');
    expect((await lookfirst(t, ['log', '--color=sometimes'])).code).toBe(64);
  });
});

describe('lookfirst completion', () => {
  it('completes commands, flags and choices in bash', async () => {
    const { stdout } = await lookfirst(scratch(), ['completion', 'bash']);
    const complete = (words: string): string[] => {
      const count = words.split(' ').length;
      const script = `${stdout}\nCOMP_WORDS=(${words}); COMP_CWORD=${count - 1}; _lookfirst; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
    };
    expect(complete('lookfirst re')).toEqual(expect.arrayContaining(['remove', 'rewind']));
    expect(complete('lookfirst undo --dr')).toEqual(['--dry-run']);
    expect(complete('lookfirst serve --dial')).toEqual(['--dialect']);
    expect(complete('lookfirst init claude')).toEqual(['claude-code', 'claude-desktop']);
    expect(complete("lookfirst log --color ''")).toEqual(['auto', 'always', 'never']);
  });

  it.each(['zsh', 'fish', 'pwsh'])('has a script for %s', async (shell) => {
    const { code, stdout } = await lookfirst(scratch(), ['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/lookfirst[\s\S]*claude-desktop[\s\S]*rewind[\s\S]*dry-run/);
  });
});

it('the completion script for zsh completes when zsh loads it from $fpath at the first Tab', async () => {
  const { stdout } = await lookfirst(scratch(), ['completion', 'zsh']);
  expect(stdout).toMatch(/== loadautofunc \]\]; then\n {2}_lookfirst "\$@"\nelse\n {2}compdef .*\nfi\n$/);
});

describe('lookfirst sessions compacted', () => {
  it('makes a running session forget its reads', async () => {
    const t = await desk({ session: 'agent-7' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const told = await lookfirst(t, ['sessions', 'compacted', 'agent-7']);
    expect(told).toMatchObject({
      code: 0,
      stdout: 'noted the compaction of session agent-7, which had seen 1 file\n',
    });
    const { detail } = await refusal(t.session.write('a.txt', 'two\n'), 'NOT_READ');
    expect(detail?.reason).toBe('compacted');
    expect((await lookfirst(t, ['log', '--kind', 'session'])).stdout).toContain('compacted');
    expect((await lookfirst(t, ['sessions', 'compacted', 'nobody'])).code).toBe(2);
    expect((await lookfirst(t, ['sessions', 'compacted'])).code).toBe(64);
  });
});
