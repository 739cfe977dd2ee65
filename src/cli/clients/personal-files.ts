import type { ProjectGit } from '../../session/project-git.ts';
import type { ClientPlaces } from './client.ts';

/** A configuration file as `init` or `remove` found it and will leave it. */
export interface PlannedConfig {
  /** The file's full path as the client names it. Links are not followed. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** How the project's files are shared with other people. */
export interface Sharing {
  /** Git's facts about the client's files in the project; undefined outside a repository. */
  readonly git: ProjectGit | undefined;
  /** True if the user chose `--scope project`: other people get the project's files. */
  readonly isShared: boolean;
  /** Files in the project that are for one user even with `--scope project`. */
  readonly personal: readonly string[];
  /** Full paths that are valid only on this machine. */
  readonly machinePaths: readonly string[];
}

/** True if people commit this file, or the user wants to share it. */
function isForOthers({ git, isShared, personal }: Sharing, places: ClientPlaces, path: string): boolean {
  if (git?.tracked.has(path) === true) return true;
  return isShared && path.startsWith(`${places.project}/`) && !personal.includes(path);
}

/**
 * The reason not to write a file: other people get it, and it would contain a path of this machine.
 * Undefined if there is no such reason.
 */
export function exposedPath(
  sharing: Sharing,
  places: ClientPlaces,
  { path, before = '', after = '' }: PlannedConfig,
): string | undefined {
  if (!isForOthers(sharing, places, path)) return undefined;
  const isNew = (machinePath: string): boolean =>
    after.split(machinePath).length > before.split(machinePath).length;
  const found = sharing.machinePaths.find((machinePath) => machinePath !== '/' && isNew(machinePath));
  if (found === undefined) return undefined;
  const why = sharing.isShared ? '--scope project shares it' : 'git tracks it';
  return `${why}, so other people would get ${found}, a path of this machine; use --scope user`;
}

/**
 * The lines of git's exclude file for the planned files that are for one user only. Empty if git
 * ignores them already.
 */
export function linesToExclude(
  sharing: Sharing,
  places: ClientPlaces,
  planned: readonly PlannedConfig[],
): readonly string[] {
  const { git } = sharing;
  return planned.flatMap(({ path, after }) => {
    const pattern = git?.patterns.get(path);
    if (pattern === undefined || after === undefined || git?.ignored.has(path)) return [];
    return isForOthers(sharing, places, path) ? [] : [pattern];
  });
}

/** The comment above each line that `init` adds to git's exclude file. `remove` finds the lines by it. */
const MARK = '# added by lookfirst init';

/** Adds lines at the beginning of git's exclude file, so that the rest stays byte for byte. */
export function withLines(text: string, lines: readonly string[]): string {
  return `${lines.map(marked).join('')}${text}`;
}

/** Removes lines that `init` added to git's exclude file. */
export function withoutLines(text: string, lines: readonly string[]): string {
  return lines.reduce((left, line) => left.replace(marked(line), ''), text);
}

function marked(line: string): string {
  return `${MARK}\n${line}\n`;
}
