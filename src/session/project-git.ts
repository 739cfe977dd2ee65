import { relative, resolve, sep } from 'node:path';
import { gitOutput, ignoredByGit } from '../process/git.ts';

/** Git's knowledge about some files of a project. */
export interface ProjectGit {
  /** The file with the patterns that git ignores on this machine only. */
  readonly excludeFile: string;
  /** For each file in the repository: the line of `excludeFile` that makes git ignore it. */
  readonly patterns: ReadonlyMap<string, string>;
  /** The files that people commit. A pattern does not make git ignore them. */
  readonly tracked: ReadonlySet<string>;
  /** The files that git ignores already. */
  readonly ignored: ReadonlySet<string>;
}

/** Git's knowledge about files with these full paths. Undefined if the project is in no repository. */
export async function projectGit(project: string, paths: readonly string[]): Promise<ProjectGit | undefined> {
  const places = await gitOutput(project, ['rev-parse', '--git-path', 'info/exclude', '--show-toplevel']);
  const [exclude = '', top = ''] = places?.split('\n') ?? [];
  if (exclude === '' || top === '') return undefined;
  const inside = (await gitOutput(project, ['rev-parse', '--show-prefix']))?.replace(/\n$/, '') ?? '';
  const patterns = new Map<string, string>();
  for (const path of paths) {
    const name = relative(project, path).split(sep).join('/');
    if (!name.startsWith('../') && name !== path) patterns.set(path, `/${inside}${name}`);
  }
  const known = [...patterns.keys()];
  const listed = known.length === 0 ? '' : await gitOutput(project, ['ls-files', '-z', '--', ...known]);
  return {
    excludeFile: resolve(project, exclude),
    patterns,
    tracked: new Set((listed ?? '').split('\0').map((name) => resolve(project, name))),
    ignored: await ignoredByGit(project, known),
  };
}
