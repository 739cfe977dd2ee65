import { basename } from 'node:path';
import { Fault } from '../model/fault.ts';

export function missingImage(sha256: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the bytes ${sha256.slice(0, 12)} are not kept: they never were, or a clean-up removed them`,
  );
}

export function damagedImage(sha256: string, file: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the kept bytes ${sha256.slice(0, 12)} were overwritten after they were kept and cannot be restored; ` +
      `what is left of them is in ${file}`,
    { path: file },
  );
}

export function changedWhileKept(fromPath: string): Fault {
  const path = shown(fromPath);
  return new Fault('IO_FAILED', `${path} was changed by someone else while it was being kept`, { path });
}

export function notKeepable(fromPath: string): Fault {
  const path = shown(fromPath);
  return new Fault('MISUSE', `${path} cannot be kept: it is not a file, or not there`, { path });
}

/** The path for messages. A path through a handle is meaningless to other processes, so only its base name is shown. */
function shown(fromPath: string): string {
  return fromPath.startsWith('/proc/self/fd/') ? basename(fromPath) : fromPath;
}
