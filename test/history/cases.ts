import type { CallStep, Lines, ResultStep, Step } from './step.ts';

/** A conversation and what its model has in its context at the end. */
export interface Case {
  readonly rule: string;
  readonly steps: readonly Step[];
  /**
   * The lines that the model has seen, as `PATH HOW LINES` without the root. HOW is the kind of
   * call, such as `read`. LINES is `*` for an edit, because hosts record different lines of it.
   */
  readonly seen: readonly string[];
}

const read = (id: string, path: string, lines?: Lines): CallStep =>
  lines === undefined
    ? { do: 'call', id, tool: 'read', path }
    : { do: 'call', id, tool: 'read', path, lines };
const ownRead = (id: string, path: string, lines: Lines): CallStep => ({
  do: 'call',
  id,
  tool: 'read',
  path,
  lines,
  own: true,
});
const write = (id: string, path: string, content: string): CallStep => ({
  do: 'call',
  id,
  tool: 'write',
  path,
  content,
});
const edit = (id: string, path: string): CallStep => ({ do: 'call', id, tool: 'edit', path });
const shell = (id: string, command: string): CallStep => ({ do: 'call', id, tool: 'shell', command });
const ok = (id: string): ResultStep => ({ do: 'result', id });
const is = (id: string, state: ResultStep['is']): ResultStep =>
  state === undefined ? ok(id) : { do: 'result', id, is: state };
const shows = (id: string, path: string, lines: Lines): ResultStep => ({
  do: 'result',
  id,
  shows: { path, lines },
});

/**
 * A shell command whose result shows all of `a.ts`. The result counts as a view of `a.ts` only if
 * the command certainly prints that file.
 */
const printed = (command: string): Step[] => [shell('1', command), shows('1', 'a.ts', [1, 5])];

/** Conversations that must give the same result in every transcript format. */
export const CASES: readonly Case[] = [
  {
    rule: 'a read that succeeded counts, one that failed does not',
    steps: [read('1', 'a.ts'), ok('1'), read('2', 'b.ts'), is('2', 'error')],
    seen: ['a.ts read whole'],
  },
  {
    rule: 'a call without a result counts as aborted',
    steps: [read('1', 'a.ts'), read('2', 'b.ts'), ok('2')],
    seen: ['b.ts read whole'],
  },
  { rule: 'a denied call shows nothing', steps: [read('1', 'a.ts'), is('1', 'denied')], seen: [] },
  {
    rule: 'results belong to calls by their id, in any order',
    steps: [read('1', 'a.ts', [1, 2]), read('2', 'b.ts', [3, 4]), ok('2'), ok('1')],
    seen: ['a.ts read 1-2', 'b.ts read 3-4'],
  },
  {
    rule: 'the first result of a call decides: a later success does not count',
    steps: [read('1', 'a.ts'), is('1', 'error'), ok('1')],
    seen: [],
  },
  {
    rule: 'the first result of a call decides: a later failure does not count',
    steps: [read('1', 'a.ts'), ok('1'), is('1', 'error')],
    seen: ['a.ts read whole'],
  },
  {
    rule: 'repeated records count once',
    steps: [read('1', 'a.ts', [2, 3]), ok('1'), read('1', 'a.ts', [2, 3]), ok('1')],
    seen: ['a.ts read 2-3'],
  },
  {
    rule: 'a repeated call id refers to the last call with it',
    steps: [read('1', 'a.ts'), read('1', 'b.ts'), ok('1')],
    seen: ['b.ts read whole'],
  },
  { rule: 'a result without a call is nobody’s', steps: [shows('9', 'a.ts', [1, 5])], seen: [] },
  {
    rule: 'a result before its call is ignored',
    steps: [shows('1', 'a.ts', [1, 5]), read('1', 'a.ts')],
    seen: [],
  },
  {
    rule: 'a compaction clears earlier views; later ones count',
    steps: [read('1', 'a.ts'), ok('1'), { do: 'compact' }, read('2', 'b.ts'), ok('2')],
    seen: ['b.ts read whole'],
  },
  {
    rule: 'results that a compaction keeps still count',
    steps: [read('1', 'a.ts'), ok('1'), read('2', 'b.ts'), ok('2'), { do: 'compact', keep: ['1'] }],
    seen: ['a.ts read whole'],
  },
  {
    rule: 'a result that was recorded blank shows nothing',
    steps: [read('1', 'a.ts'), is('1', 'blank'), read('2', 'b.ts'), ok('2')],
    seen: ['b.ts read whole'],
  },
  {
    rule: 'a result that is blanked later no longer counts',
    steps: [read('1', 'a.ts'), ok('1'), read('2', 'b.ts'), ok('2'), { do: 'blank', id: '1' }],
    seen: ['b.ts read whole'],
  },
  {
    rule: 'the oldest results are cleared first',
    steps: [
      read('1', 'a.ts'),
      ok('1'),
      read('2', 'b.ts'),
      ok('2'),
      read('3', 'c.ts'),
      ok('3'),
      { do: 'clear', count: 2 },
    ],
    seen: ['c.ts read whole'],
  },
  {
    rule: 'views in a rewound part no longer count; earlier ones do',
    steps: [
      read('1', 'a.ts'),
      ok('1'),
      read('2', 'b.ts'),
      ok('2'),
      read('3', 'c.ts'),
      ok('3'),
      { do: 'rewind', before: '2' },
      read('4', 'd.ts'),
      ok('4'),
    ],
    seen: ['a.ts read whole', 'd.ts read whole'],
  },
  {
    rule: 'the requested lines count as seen, and pages add up',
    steps: [read('1', 'a.ts', [1, 2]), ok('1'), read('2', 'a.ts', [4, 5]), ok('2')],
    seen: ['a.ts read 1-2', 'a.ts read 4-5'],
  },
  {
    rule: 'a request for too many lines ends with the file',
    steps: [read('1', 'a.ts', [1, 900]), shows('1', 'a.ts', [1, 5])],
    seen: ['a.ts read whole'],
  },
  {
    rule: 'our own receipt takes precedence over the arguments',
    steps: [
      ownRead('1', 'a.ts', [1, 5]),
      { ...shows('1', 'a.ts', [1, 3]), receipt: '[read a.ts lines 1-3 of 9]' },
    ],
    seen: ['a.ts read 1-3'],
  },
  {
    rule: 'a receipt whose lines are missing proves nothing',
    steps: [
      ownRead('1', 'a.ts', [1, 5]),
      { ...shows('1', 'a.ts', [1, 2]), receipt: '[read a.ts lines 1-3 of 9]' },
    ],
    seen: [],
  },
  {
    rule: 'a receipt for another file is ignored',
    steps: [
      ownRead('1', 'a.ts', [1, 5]),
      { ...shows('1', 'a.ts', [1, 3]), receipt: '[read b.ts lines 1-3 of 3]' },
      read('2', 'b.ts', [1, 1]),
      ok('2'),
    ],
    seen: ['b.ts read 1'],
  },
  {
    rule: 'relative paths are resolved in the working directory at that time',
    steps: [
      read('1', 'a.ts'),
      ok('1'),
      { do: 'enter', directory: '/repo/src' },
      read('2', 'b.ts'),
      ok('2'),
      { do: 'enter', directory: '/repo' },
      read('3', 'c.ts'),
      ok('3'),
    ],
    seen: ['a.ts read whole', 'c.ts read whole', 'src/b.ts read whole'],
  },
  {
    rule: 'relative and absolute paths, and paths with "..", name the same file',
    steps: [
      read('1', 'a.ts', [1, 1]),
      ok('1'),
      read('2', '/repo/a.ts', [2, 2]),
      ok('2'),
      read('3', 'src/../a.ts', [3, 3]),
      ok('3'),
    ],
    seen: ['a.ts read 1', 'a.ts read 2', 'a.ts read 3'],
  },
  {
    rule: 'a write shows the whole file, if it succeeded',
    steps: [
      write('1', '/repo/n.ts', 'one\ntwo\n'),
      ok('1'),
      write('2', '/repo/m.ts', 'x\n'),
      is('2', 'error'),
    ],
    seen: ['n.ts write whole'],
  },
  {
    rule: 'an edit makes a file known',
    steps: [edit('1', '/repo/a.ts'), ok('1'), edit('2', '/repo/b.ts'), is('2', 'error')],
    seen: ['a.ts edit *'],
  },
  { rule: 'cat shows all of a file', steps: printed('cat a.ts'), seen: ['a.ts read whole'] },
  {
    rule: 'sed -n shows the lines it names',
    steps: [shell('1', "sed -n '2,3p' a.ts"), shows('1', 'a.ts', [2, 3])],
    seen: ['a.ts read 2-3'],
  },
  {
    rule: 'head shows the first lines',
    steps: [shell('1', 'head -n 2 a.ts'), shows('1', 'a.ts', [1, 2])],
    seen: ['a.ts read 1-2'],
  },
  {
    rule: 'tail shows lines whose numbers only the file on disk can tell',
    steps: [shell('1', 'tail -n 2 a.ts'), shows('1', 'a.ts', [4, 5])],
    seen: ['a.ts read none'],
  },
  {
    rule: 'a command that failed shows nothing',
    steps: [shell('1', 'cat a.ts'), { ...shows('1', 'a.ts', [1, 5]), is: 'error' }],
    seen: [],
  },
  ...[
    'cat a.ts | wc -l',
    'cat a.ts b.ts',
    'cat a.ts && cat b.ts',
    'cat a.ts; rm a.ts',
    'cat $FILE',
    'cat *.ts',
    'cat < a.ts',
    'cat a.ts > b.ts',
    'cat `echo a.ts`',
    'cd src && cat a.ts',
    'sed s/a/b/ a.ts',
    'sed -n 1,5p a.ts b.ts',
    'head -c 10 a.ts',
    'tail -f a.ts',
    'grep x a.ts',
    'less a.ts',
  ].map((command): Case => ({ rule: `\`${command}\` is not certain`, steps: printed(command), seen: [] })),
];
