import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /^import \{([^}]*)\} from '\.\.\/build\/(.*)\.js';$/gm;

it('every name that a benchmark imports from the build exists', async () => {
  const missing: string[] = [];
  let count = 0;
  for (const file of readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.mjs'))) {
    const text = readFileSync(join(root, 'bench', file), 'utf8');
    for (const [, names = '', path = ''] of text.matchAll(IMPORT)) {
      const found: object = await import(join(root, 'src', `${path}.ts`)).catch(() => ({}));
      const wanted = names.split(',').flatMap((name) => name.trim().split(' as ')[0] || []);
      count += wanted.length;
      missing.push(...wanted.filter((name) => !(name in found)).map((name) => `${file}: ${name} of ${path}`));
    }
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(10);
});
