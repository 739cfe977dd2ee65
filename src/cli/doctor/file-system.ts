import { join } from 'node:path';
import { exchangeFiles, type FolderHealth, folderHealth, lockHealth } from '../../records/health.ts';
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
    const health = folderHealth(cli.cwd);
    return [checkGuarantee(health), checkClock(health), ...checkSync(health.root)];
  } catch (error) {
    return [fail('containment', reasonOf(error))];
  }
}

function checkGuarantee({ guarantee }: FolderHealth): DoctorCheck {
  if (guarantee === 'walk') return ok('containment', 'every step goes through a directory handle');
  return warn(
    'containment',
    'paths are checked, then used: a program that swaps folders in between can win (LIMITS.md)',
  );
}

function checkClock({ clock }: FolderHealth): DoctorCheck {
  switch (clock) {
    case 'own':
      return ok('clock', 'file times come from this machine; unchanged files need no hashing');
    case 'foreign':
      return warn(
        'clock',
        'file times come from elsewhere (network or user file system): every check hashes the file',
      );
    case 'unreadable':
      return fail('clock', 'this folder cannot be read');
    default:
      return clock satisfies never;
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
  stage.put('one.txt', 'one');
  stage.put('two.txt', 'two');
  try {
    if (!exchangeFiles(join(stage.workspace, 'one.txt'), join(stage.workspace, 'two.txt')))
      return warn(name, `fs-native-extensions has no build here; ${weaker}`);
  } catch (error) {
    return warn(name, `not on this file system (${reasonOf(error)}); ${weaker}`);
  }
  const isSwapped = stage.text('one.txt') === 'two' && stage.text('two.txt') === 'one';
  return isSwapped ? ok(name, 'a file changes in one step') : fail(name, 'two names were not exchanged');
}

function checkLocks(stage: Stage): DoctorCheck {
  const name = 'locks';
  const health = lockHealth(join(stage.state, 'doctor-lock'));
  switch (health) {
    case 'kernel':
      return ok(name, 'by the kernel: what a killed process held is free at once');
    case 'files':
      return warn(name, 'by lock files: a killed process is found by its number, not by the kernel');
    case 'refused':
      return fail(name, 'a free lock could not be taken');
    default:
      return health satisfies never;
  }
}
