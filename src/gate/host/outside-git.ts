import { resolve } from 'node:path';
import type { Sweep } from '../../dialect/calls/shell/sweeps.ts';
import { repositoryAround } from '../../process/git.ts';
import { cleanedBy, statusOf } from '../../process/git-status.ts';
import { realFolder } from '../../process/own-files.ts';

/** Time limit for all questions to git about one line. */
const GIT_MS = 3_000;

/** A path that git deletes or overwrites. `whole`: a folder with everything in it. */
interface SweptPath {
  readonly path: string;
  readonly whole: boolean;
}

/** The files that git commands of a line delete or overwrite in repositories outside, and their indexes. */
export async function sweptByGit(
  sweeps: readonly Sweep[],
  { cwd, isOutside }: { readonly cwd: string; isOutside(path: string): boolean },
): Promise<readonly SweptPath[]> {
  const signal = AbortSignal.timeout(GIT_MS);
  const swept: SweptPath[] = [];
  for (const sweep of sweeps) {
    const folder = realFolder(resolve(cwd, sweep.folder));
    if (!isOutside(folder)) continue;
    if (sweep.kind === 'clean') swept.push(...(await cleaned(folder, sweep.args, signal)));
    if (sweep.kind === 'tracked' && sweep.takes !== 'staged')
      swept.push(...(await takenFrom(folder, sweep.paths, signal)));
  }
  return swept;
}

async function cleaned(
  folder: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<readonly SweptPath[]> {
  const names = await cleanedBy(folder, args, signal);
  return names.map((name) => ({ path: resolve(folder, name), whole: name.endsWith('/') }));
}

async function takenFrom(
  folder: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly SweptPath[]> {
  const top = repositoryAround(folder) ?? folder;
  const changed = await statusOf(folder, { paths, others: 'no', signal });
  const files = changed.map(({ path }) => ({ path: resolve(top, path), whole: false }));
  return files.length === 0 ? [] : [...files, { path: resolve(top, '.git/index'), whole: false }];
}
