import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { hookScript, type ScriptPlaces } from '../../config/hook-script.ts';
import { isMissing } from '../../model/errno.ts';
import type { HookFiles } from './hook-settings.ts';

/** The paths of the files that hooks run. */
export function hookFiles(home: string): HookFiles {
  return { script: join(home, 'bin', 'lookfirst-hook'), plugin: join(home, 'bin', 'lookfirst-opencode.js') };
}

/** Writes the script and the plugin into the state folder, each in one step: a hook may run the old one meanwhile. */
export function writeHookFiles(places: Omit<ScriptPlaces, 'uid'>): void {
  const program = realpathSync(places.program);
  const files = hookFiles(places.home);
  mkdirSync(dirname(files.script), { recursive: true, mode: 0o700 });
  const uid = process.getuid?.() ?? 0;
  replace(files.script, (path) => {
    writeFileSync(path, hookScript({ ...places, program, uid }));
    chmodSync(path, 0o755);
  });
  // The plugin is built beside the program's folder.
  const plugin = join(dirname(program), '..', 'opencode.js');
  replace(files.plugin, (path) => copyFileSync(plugin, path));
}

/** True if the script is there and calls this program. */
export function isCurrent({ home, program }: Pick<ScriptPlaces, 'home' | 'program'>): boolean {
  try {
    return readFileSync(hookFiles(home).script, 'utf8').includes(realpathSync(program));
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function replace(path: string, write: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  write(temporary);
  renameSync(temporary, path);
}
