import { errnoOf } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { DiskContext } from './context.ts';

/**
 * Turns a system error during a change into a fault that names the target, not the temporary file
 * or the handle.
 */
export function changeFailed(context: DiskContext, error: unknown, path: ResolvedPath): Fault {
  // The cleanup may have failed as well, so keep the litter log.
  context.litter.doubt();
  if (error instanceof Fault) return error;
  const why = errnoOf(error);
  const message = why === undefined ? String(error) : (MEANING[why] ?? why);
  return new Fault('IO_FAILED', `could not change ${path.given}: ${message}`, {
    cause: error,
    path: path.given,
    ...(why === undefined ? {} : { reason: why }),
  });
}

const MEANING: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device (ENOSPC)',
  EDQUOT: 'the disk quota is used up (EDQUOT)',
  ENOENT: 'its folder is gone (ENOENT)',
  EIO: 'the device reported an error (EIO)',
  EROFS: 'the file system is mounted read-only (EROFS)',
  EACCES: 'permission denied in its folder (EACCES)',
  EPERM: 'the operation is not permitted (EPERM)',
  EMFILE: 'this process has too many open files (EMFILE)',
  ENFILE: 'the system has too many open files (ENFILE)',
  EXDEV: 'its new place is on another file system (EXDEV)',
  ENAMETOOLONG: 'the name is too long (ENAMETOOLONG)',
};
