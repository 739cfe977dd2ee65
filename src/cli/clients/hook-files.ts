import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inStateFolder, makeStateSubfolder } from '../../config/resident-place.ts';
import { unlessMissing } from '../../model/fault.ts';
import { cachedProgramFile, hookScript, isCached, type ScriptPlaces, shellScript } from './hook-scripts.ts';
import type { HookFiles } from './hook-settings.ts';

/** The paths of the files that hooks run. */
export function hookFiles(home: string): HookFiles {
  const at = (name: string): string => join(home, 'bin', name);
  return {
    script: at('lookfirst-hook'),
    plugin: at('lookfirst-opencode.js'),
    shell: at('lookfirst-shell'),
  };
}

/**
 * Writes the scripts that hooks run, and the plugin for opencode, into the state folder. Replaces
 * each file in one step, because a hook may be running the old script. Throws a Fault on failure.
 */
export function writeHookFiles(places: Omit<ScriptPlaces, 'uid'>): void {
  const program = realpathSync(places.program);
  const files = hookFiles(places.home);
  makeStateSubfolder(dirname(files.script));
  const uid = process.getuid?.() ?? 0;
  // The plugin is built beside the program's folder.
  const plugin = join(dirname(program), '..', 'opencode.js');
  inStateFolder(places.home, () => {
    if (isCached(program))
      replace(cachedProgramFile(places.home), (path) => writeFileSync(path, `${program}\n`));
    replaceScript(files.script, hookScript({ ...places, program, uid }));
    replaceScript(files.shell, shellScript({ ...places, program, uid }));
    replace(files.plugin, (path) => copyFileSync(plugin, path));
  });
}

/**
 * True if the hook script calls this program. For a program in npx's cache, checks the file from
 * which the script reads the program's path.
 */
export function isCurrent({ home, program }: Pick<ScriptPlaces, 'home' | 'program'>): boolean {
  const real = realpathSync(program);
  const file = isCached(real) ? cachedProgramFile(home) : hookFiles(home).script;
  return unlessMissing(() => readFileSync(file, 'utf8').includes(real)) ?? false;
}

function replaceScript(path: string, text: string): void {
  replace(path, (temporary) => {
    writeFileSync(temporary, text);
    chmodSync(temporary, 0o755);
  });
}

function replace(path: string, write: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    write(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
