import type { Fault } from '../model/fault.ts';

/**
 * Descriptions of STORE_FAILED that name no path, by the fault's reason: an errno, or a word that the store uses.
 */
const STORE_CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of the state folder is full',
  EDQUOT: 'the disk quota of the state folder is used up',
  EACCES: 'the state folder cannot be written',
  EPERM: 'the state folder cannot be written',
  EROFS: 'the state folder is on a read-only file system',
  EMFILE: 'too many files are open',
  full: 'the disk of the state folder is full',
  busy: 'another process kept the state database locked for too long',
  'read-only': 'the state database cannot be written',
  unopenable: 'the state database cannot be opened',
  damaged: 'the state database is damaged',
  unsent: 'the fleet store cannot be reached',
  unanswered: 'the fleet store does not answer',
  refused: 'the fleet store refused the user name or password',
  lease: 'another machine may be writing to this shared workspace',
  elsewhere: 'the bytes are kept on another machine only',
  newer: 'the fleet store is of a newer version',
  failed: 'the fleet store reported an error',
  lost: 'the state database was removed, replaced or truncated while in use, and Lookfirst must be started again',
};

/** Why the state failed, for a model or user who must not see paths of other sessions; undefined if unknown. */
export function storeCause({ code, reason = '' }: Fault): string | undefined {
  return code === 'STORE_FAILED' && Object.hasOwn(STORE_CAUSES, reason) ? STORE_CAUSES[reason] : undefined;
}
