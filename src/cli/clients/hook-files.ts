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
import { shellPrefixScript } from '../shell-prefix.ts';
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
 * Writes the scripts and the plugin into the state folder. Each file is replaced in one step,
 * because a hook may run the old one at that moment.
 */
export function writeHookFiles(places: Omit<ScriptPlaces, 'uid'>): void {
  const program = realpathSync(places.program);
  const files = hookFiles(places.home);
  mkdirSync(dirname(files.script), { recursive: true, mode: 0o700 });
  const uid = process.getuid?.() ?? 0;
  replaceScript(files.script, hookScript({ ...places, program, uid }));
  replaceScript(files.shell, shellPrefixScript([places.node, program]));
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

function replaceScript(path: string, text: string): void {
  replace(path, (temporary) => {
    writeFileSync(temporary, text);
    chmodSync(temporary, 0o755);
  });
}

function replace(path: string, write: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  write(temporary);
  renameSync(temporary, path);
}
