import { expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { Fault } from '../model/fault.ts';
import { changeFailed } from './context.ts';

it.each<[string, string]>([
  ['ENOSPC', 'no space left on the device (ENOSPC)'],
  ['ENOENT', 'its folder is gone (ENOENT)'],
  ['EIO', 'the device reported an error (EIO)'],
  ['EROFS', 'the file system is mounted read-only (EROFS)'],
  ['EACCES', 'permission denied in its folder (EACCES)'],
  ['EMFILE', 'this process has too many open files (EMFILE)'],
  ['EBUSY', 'it is a mount point, or the system keeps it busy (EBUSY)'],
  ['EODD', 'EODD'],
])('%s names the target as the caller wrote it, never a handle', (code, meaning) => {
  const disk = bench(['d/f']);
  const cause = Object.assign(new Error(`${code}: open '/proc/self/fd/7/.lookfirst-x'`), { code });
  const fault = changeFailed(disk.context, cause, disk.place('d/../d/f').path);
  expect(fault).toMatchObject({ code: 'IO_FAILED', path: 'd/../d/f', reason: code, cause });
  expect(fault.message).toBe(`could not change d/../d/f: ${meaning}`);
});

it('returns a fault unchanged', () => {
  const disk = bench(['f']);
  const fault = new Fault('MISUSE', 'closed');
  expect(changeFailed(disk.context, fault, disk.place('f').path)).toBe(fault);
});
