import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { settledBytes } from './replace.ts';

function opened(content: string): { readonly file: string; readonly fd: number } {
  const file = join(scratch().root, 'a.txt');
  writeFileSync(file, content);
  const fd = openSync(file, 'r');
  onTestFinished(() => closeSync(fd));
  return { file, fd };
}

it('waits for the bytes of a program that has emptied the file to rewrite it', () => {
  const { file, fd } = opened('');
  let waits = 0;
  const bytes = settledBytes(fd, () => {
    waits += 1;
    if (waits === 3) writeFileSync(file, 'new\n');
  });
  expect(bytes?.toString()).toBe('new\n');
});

it('does not wait for a file that stays the same, nor for ever for an empty one', () => {
  let waits = 0;
  const count = (): void => {
    waits += 1;
  };
  expect(settledBytes(opened('one\n').fd, count)?.toString()).toBe('one\n');
  expect(waits).toBe(0);
  expect(settledBytes(opened('').fd, count)?.toString()).toBe('');
});
