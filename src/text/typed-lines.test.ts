import { describe, expect, it } from 'vitest';
import { NOTHING, WHOLE } from '../model/coverage.ts';
import { diffLines } from './diff.ts';
import { typedLines } from './typed-lines.ts';

function typed(before: string, after: string, command: string, editsInPlace = false): readonly object[] {
  const { hunks } = diffLines(before, after);
  const seen = editsInPlace ? WHOLE : NOTHING;
  return typedLines({ before, after, hunks, seen }, { command, editsInPlace });
}

describe('typedLines', () => {
  it.each([
    ['a new line that stands in the command', 'a\n', 'a\n  new line\n', 'echo "  new line" >> f', [2]],
    ['a bracket', 'a\n', 'a\n}\n', "cat >> f <<'E'\n}\nE", [2]],
    ['no line that does not', 'a\n', 'a\nnew line\n', 'cat g >> f', []],
    ['no line that is a part of a word', 'a\n', 'a\nnew\n', 'cat renewed >> f', []],
    ['no line as short as a number', 'a\n', 'a\n9\n', 'seq 9 >> f', []],
  ])('counts %s', (_what, before, after, command, lines) => {
    expect(typed(before, after, command)).toEqual(lines.map((line) => ({ from: line, to: line })));
  });

  it.each([
    ['the new words of an edited line', 'say two\n', 'say twenty\n', 's/two/twenty/', true],
    ['a part of a word', 'says two\n', 'said two\n', 's/says/said/', true],
    ['text that was taken out', 'say two;\n', 'say two\n', 's/;//', true],
    ['no words that the command made', 'say two\n', 'say TWO\n', 's/two/\\U&/', false],
  ])('counts %s', (_what, before, after, script, isSeen) => {
    const lines = isSeen ? [{ from: 1, to: 1 }] : [];
    expect(typed(before, after, `sed -i '${script}' f`, true)).toEqual(lines);
  });
});
