import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../..');

export interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Packs the project into `folder`, as `npm publish` does. */
export function pack(folder: string): Packed {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  // npm prints a list with one package.
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  ) as Packed[];
  if (packed === undefined) throw new Error('npm packed nothing');
  return packed;
}
