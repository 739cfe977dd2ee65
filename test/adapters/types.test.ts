import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepare } from './prepare.mjs';

await prepare();
const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
const installed = join(import.meta.dirname, 'node_modules/lookfirst');
const checked = join(installed, 'checked');

describe('the types of the adapters', () => {
  it('fit those of the frameworks, with exactOptionalPropertyTypes', () => {
    copyTypes();
    const args = [compiler, '-p', checked, '--pretty', 'false', '--listFiles'];
    const { stdout } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' });
    const lines = stdout.split('\n');
    // Ignore TS2842 (an unused renaming): our declarations repeat the destructured parameters of
    // their implementations.
    expect(lines.filter((line) => /error TS(?!2842)/.test(line))).toEqual([]);
    expect(lines).toContain(join(checked, 'ai-sdk.ts'));
    expect(lines).toContain(join(checked, 'types/sessions.ts'));
    expect(lines).toContain(join(import.meta.dirname, 'doors/ai-sdk.ts'));
  });
});

/**
 * The compiler skips declaration files (`skipLibCheck`), because those of the frameworks contain
 * errors. This function copies our declaration files as source files, so that the compiler checks
 * them.
 */
function copyTypes(): void {
  rmSync(checked, { recursive: true, force: true });
  cpSync(join(installed, 'dist'), checked, {
    recursive: true,
    filter: (path) => !path.includes('.') || path.endsWith('.d.ts'),
  });
  for (const name of readdirSync(checked, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.d.ts')) renameSync(join(checked, name), join(checked, name.replace('.d.ts', '.ts')));
  const project = {
    extends: '../../../tsconfig.json',
    // The build's declarations import types without the word `type`, which `verbatimModuleSyntax`
    // would reject.
    compilerOptions: { skipLibCheck: true, verbatimModuleSyntax: false },
    include: ['.', '../../../*.ts', '../../../doors'],
    exclude: [],
  };
  writeFileSync(join(checked, 'tsconfig.json'), JSON.stringify(project));
}
