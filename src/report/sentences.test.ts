import { describe, expect, it } from 'vitest';
import type { Refusal } from '../model/verdict.ts';
import { explain } from './explain.ts';

function text(refusal: Refusal): string {
  return explain(refusal, { nowMs: 0 });
}

describe('a refusal', () => {
  it.each<[string, Refusal, RegExp]>([
    [
      'of a move names the source and the destination',
      {
        code: 'ALREADY_EXISTS',
        action: 'move',
        path: 'sub',
        next: 'other_path',
        detail: { source: 'a.js', reason: 'only a file may take the place of a file' },
      },
      /^refusing to move a\.js to sub: something is already there \[ALREADY_EXISTS\]\nOnly a file/,
    ],
    [
      'of a move to a name that another program took in this moment names the destination as such',
      { code: 'ALREADY_EXISTS', action: 'move', path: 'b', next: 'read' },
      /^refusing to move to b: something is already there/,
    ],
    [
      'of a move into a missing folder does not say that the file is missing',
      {
        code: 'NOT_FOUND',
        action: 'move',
        path: 'nodir/x',
        next: 'other_path',
        detail: { source: 'a', reason: 'the folder it would go into does not exist' },
      },
      /^refusing to move a to nodir\/x: the folder it would go into does not exist \[NOT_FOUND\]\nNext: /,
    ],
    [
      'of a path through a file says so, and only once',
      {
        code: 'NOT_A_FILE',
        action: 'mkdir',
        path: 'a.txt/x',
        next: 'other_path',
        detail: { reason: 'a part of the path is a file, not a folder', errno: 'ENOTDIR' },
      },
      /^refusing to make the folder a\.txt\/x: a part of the path is a file, not a folder \[NOT_A_FILE\]\nNext: /,
    ],
    [
      'of a path with too many links says so',
      {
        code: 'OUTSIDE_WORKSPACE',
        action: 'read',
        path: 'l',
        next: 'other_path',
        detail: { reason: 'the path contains too many links' },
      },
      /^refusing to read l: the path contains too many links \[OUTSIDE_WORKSPACE\]\nNext: /,
    ],
    [
      'to delete a deleted folder does not suggest to create it',
      {
        code: 'DELETED',
        action: 'delete',
        path: 'd',
        next: 'other_tool',
        detail: { kind: 'directory', seenAtMs: -60_000 },
      },
      /^refusing to delete d: it was deleted since it was listed \[DELETED\]\n.*\nThere is nothing left to delete\.$/,
    ],
    [
      'to move a deleted file shows where to look for it',
      { code: 'DELETED', action: 'move', path: 'd/a', next: 'other_tool' },
      /\nNext: list_directory \{"path":"d"\} shows what is there\.$/,
    ],
    [
      'of a command says what the command may do',
      {
        code: 'PROTECTED',
        action: 'run',
        path: '.claude/settings.json',
        next: 'ask_human',
        detail: {
          cause: 'tampering',
          reason: 'it may change .claude/settings.json, which only the user may do',
        },
      },
      /^refusing to run the command: it may change \.claude\/settings\.json, which only the user may do \[PROTECTED\]\nThere is no way/,
    ],
    [
      'of a command of Lookfirst names it',
      {
        code: 'PROTECTED',
        action: 'run',
        path: 'lookfirst allow',
        next: 'ask_human',
        detail: { cause: 'own-command', reason: 'only the user may run it' },
      },
      /^refusing to run lookfirst allow: only the user may run it \[PROTECTED\]\nThere is no way/,
    ],
    [
      'of a command names the folder where it would start',
      { code: 'OUTSIDE_WORKSPACE', action: 'run', path: '/etc', next: 'other_path' },
      /^refusing to run the command in \/etc: it is outside the workspace/,
    ],
    [
      'of a file that a command made names the setting for its size',
      {
        code: 'TOO_LARGE',
        action: 'commit',
        path: 'a',
        next: 'ask_human',
        detail: { sizeBytes: 2, limitBytes: 1 },
      },
      /ask the user to raise commands\.fileBytes in the policy\.$/,
    ],
    [
      'of an edit whose result is too large does not suggest an edit',
      { code: 'TOO_LARGE', action: 'edit', path: 'a', next: 'use_edit' },
      /^refusing to edit a: the result would be too large \[TOO_LARGE\]\nNext: replace less text in one call\.$/,
    ],
  ])('%s', (_rule, refusal, expected) => {
    expect(text(refusal)).toMatch(expected);
  });
});
