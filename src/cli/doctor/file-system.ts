import { join } from 'node:path';
import { FileSystemClock } from '../../disk/clock.ts';
import { loadNative } from '../../disk/native.ts';
import { openRangeLock } from '../../lock/range-lock.ts';
import { Workspace } from '../../workspace/workspace.ts';
import type { Cli } from '../cli.ts';
import type { Stage } from '../stage.ts';
import { type DoctorCheck, fail, ok, reasonOf, warn } from './check.ts';

/** Parts of the paths of folders that a synchronising program changes on its own. */
const SYNCED: readonly (readonly [RegExp, string])[] = [
  [/(^|[\\/])Dropbox([\\/]|$)/i, 'Dropbox'],
  [/(^|[\\/])OneDrive[^\\/]*([\\/]|$)/i, 'OneDrive'],
  [/[\\/](Mobile Documents|iCloud ?Drive)([\\/]|$)/i, 'iCloud'],
  [/[\\/]Library[\\/]CloudStorage[\\/]/i, 'a cloud folder'],
  [/(^|[\\/])Google ?Drive([\\/]|$)/i, 'Google Drive'],
];

/** The guarantees that the file system of this folder allows. */
export function checkFolder(cli: Cli): DoctorCheck[] {
  try {
    const workspace = Workspace.open([cli.cwd]);
    try {
      return [checkGuarantee(workspace), checkClock(workspace), ...checkSync(workspace.roots[0] ?? cli.cwd)];
    } finally {
      workspace.close();
    }
  } catch (error) {
    return [fail('containment', reasonOf(error))];
  }
}

function checkGuarantee({ guarantee }: Workspace): DoctorCheck {
  if (guarantee === 'walk') return ok('containment', 'every step goes through a directory handle');
  return warn(
    'containment',
    'paths are checked, then used: a program that swaps folders in between can win (LIMITS.md)',
  );
}

/** Checks the file system's clock: a stamp can replace hashing only if this machine's clock made it. */
function checkClock(workspace: Workspace): DoctorCheck {
  const outcome = workspace.locate('.', 'status');
  if (!outcome.ok || !outcome.located.exists) return fail('clock', 'this folder cannot be looked at');
  const { place, stats } = outcome.located;
  const clock = new FileSystemClock();
  try {
    const isForeign = clock.isRacy({ ...stats, mtimeNs: 0n, ctimeNs: 0n }, place.dir.prefix);
    if (!isForeign) return ok('clock', 'file times come from this machine; unchanged files need no hashing');
    return warn(
      'clock',
      'file times come from elsewhere (network or user file system): every check hashes the file',
    );
  } finally {
    clock.close();
    place.dir.close();
  }
}

function checkSync(root: string): DoctorCheck[] {
  const found = SYNCED.find(([pattern]) => pattern.test(root));
  if (found === undefined) return [];
  return [warn('sync folder', `${found[1]} also writes here; its changes show as made from outside`)];
}

/** Tries the exchange and the lock that every change uses, in a temporary folder. */
export function checkKernel(stage: Stage): DoctorCheck[] {
  return [checkExchange(stage), checkLocks(stage)];
}

function checkExchange(stage: Stage): DoctorCheck {
  const name = 'atomic exchange';
  const weaker = 'files are claimed and linked instead, with an instant in which a name is free';
  const native = loadNative();
  if (native === undefined) return warn(name, `fs-native-extensions has no build here; ${weaker}`);
  stage.put('one.txt', 'one');
  stage.put('two.txt', 'two');
  try {
    native.swapSync(join(stage.workspace, 'one.txt'), join(stage.workspace, 'two.txt'));
  } catch (error) {
    return warn(name, `not on this file system (${reasonOf(error)}); ${weaker}`);
  }
  const isSwapped = stage.text('one.txt') === 'two' && stage.text('two.txt') === 'one';
  return isSwapped ? ok(name, 'a file changes in one step') : fail(name, 'two names were not exchanged');
}

function checkLocks(stage: Stage): DoctorCheck {
  const name = 'locks';
  const lock = openRangeLock(join(stage.state, 'doctor-lock'));
  if (lock === undefined)
    return warn(name, 'by lock files: a killed process is found by its number, not by the kernel');
  try {
    if (!lock.tryAcquire(1)) return fail(name, 'a lock that nobody has could not be had');
    lock.release(1);
    return ok(name, 'by the kernel: what a killed process held is free at once');
  } finally {
    lock.close();
  }
}
