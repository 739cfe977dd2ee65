import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { loadNative } from '../../src/disk/context.ts';

/** The system calls of Node that change a file system, as far as we use them. */
const CHANGING = [
  'renameSync',
  'linkSync',
  'unlinkSync',
  'symlinkSync',
  'mkdirSync',
  'rmdirSync',
  'chmodSync',
  'fchmodSync',
  'writeSync',
] as const;

/** Calls `before` ahead of every system call of this process that changes a file. */
export function beforeChangingCalls(before: () => void): void {
  for (const name of CHANGING) wrap(fs, name, before);
  const native = loadNative();
  if (native !== undefined) wrap(native, 'swapSync', before);
  syncBuiltinESMExports();
}

function wrap<Name extends string>(target: { [K in Name]: unknown }, name: Name, before: () => void): void {
  const call = target[name];
  if (typeof call !== 'function') throw new TypeError(`there is no function ${name}`);
  target[name] = (...values: readonly unknown[]): unknown => {
    before();
    return Reflect.apply(call, target, values);
  };
}
