import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { Fault } from '../model/fault.ts';

/** Where to find ripgrep; defaults to the npm package, then PATH. */
export interface RipgrepSource {
  /** Returns the path of the packaged binary; throws if the package for this platform is not installed. */
  readonly packaged?: () => Promise<string>;
  /** Folders to search otherwise, in PATH syntax. */
  readonly searchPath?: string;
}

/**
 * Finds ripgrep: the packaged binary, else `rg` on PATH. Skips relative folders and folders below
 * `roots`, where an agent could have put its own program.
 */
export async function findRipgrep(source: RipgrepSource, roots: readonly string[]): Promise<string> {
  const packaged = await packagedBinary(source.packaged ?? packagedPath);
  if (packaged !== undefined) return packaged;
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  for (const folder of (source.searchPath ?? process.env['PATH'] ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = executable(join(folder, name));
    if (found !== undefined && !roots.some((root) => isBelow(root, found))) return found;
  }
  throw new Fault(
    'CONFIG_INVALID',
    'finding files and searching text need ripgrep, which is not installed: ' +
      'install lookfirst with its optional packages (npm install --include=optional), ' +
      'or put ripgrep 13 or newer on PATH as rg',
    { reason: 'ripgrep' },
  );
}

/** Imported on demand: the package throws on import if its optional binary is missing. */
async function packagedPath(): Promise<string> {
  return (await import('@vscode/ripgrep')).rgPath;
}

async function packagedBinary(load: () => Promise<string>): Promise<string | undefined> {
  try {
    return executable(await load());
  } catch {
    return undefined;
  }
}

/** The real path of an executable file, with all links resolved; undefined if it cannot be run. */
function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function isBelow(root: string, path: string): boolean {
  const slashes = path.replaceAll('\\', '/');
  return slashes.startsWith(root.endsWith('/') ? root : `${root}/`);
}
