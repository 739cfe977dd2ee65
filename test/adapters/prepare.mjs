import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alone, toolIn } from '../support/tools.mjs';

const project = join(import.meta.dirname, '../..');
const modules = join(import.meta.dirname, 'node_modules');

export async function prepare() {
  await toolIn('adapters', 'ai/package.json');
  await alone('prepare', () => {
    const built = String(statSync(join(project, 'dist/bin/lookfirst.js')).mtimeMs);
    const copy = join(modules, 'lookfirst');
    const mark = join(copy, '.built');
    if (existsSync(mark) && readFileSync(mark, 'utf8') === built) return;
    rmSync(copy, { recursive: true, force: true });
    mkdirSync(copy);
    cpSync(join(project, 'dist'), join(copy, 'dist'), { recursive: true });
    cpSync(join(project, 'package.json'), join(copy, 'package.json'));
    writeFileSync(mark, built);
  });
}
