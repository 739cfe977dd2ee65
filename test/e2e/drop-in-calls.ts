/** The reasons why our answer may differ from the official server's. */
export const REASONS = {
  notText:
    'bytes that are not UTF-8 are not shown with replacement characters, for they would be written back so',
  tail: 'the official server counts the nothing after the last newline as a line, and turns CRLF into LF',
  fraction: 'part of a line is a line, at the end of a file as at its beginning',
  negative: 'a number of lines below zero is a mistake that is told',
  target: 'where a link outside leads is not told',
  empty: 'an empty path is a mistake that is told',
  dangling: 'a link that leads nowhere is missing, and so is not its folder',
  arguments: 'arguments that do not fit are told in our words',
  windows: 'a name may hold a colon and a backslash',
  nul: 'a NUL character is named as the mistake it is',
  each: 'each failed file comes with its own refusal',
  linkSize: 'the size of a link is not that of its target, which may lie outside; folders have none',
  blind: 'an existing file is not overwritten unread',
  unique: 'an edit must name one place',
  exact: 'text with other indentation is not the text that was named',
  endings: 'line endings that were not edited stay as they are',
  errno: 'the system call that failed is another one',
  into: 'a folder does not go into itself, in our words',
  protocol: 'a tool that is not there is a protocol error in later revisions of the protocol',
} as const;

/**
 * A tool, its arguments, and the reason why our answer differs from the official server's. Without
 * a reason, the answers must be equal. `ROOT` in the arguments stands for the path of the root.
 */
export type DropInCall = readonly [tool: string, args: object, differs?: keyof typeof REASONS];

const r = (name: string): string => `ROOT/${name}`;
const read = (name: string, differs?: keyof typeof REASONS): DropInCall =>
  call('read_text_file', r(name), differs);
const edits = (oldText: string, newText: string) => [{ oldText, newText }];

function call(tool: string, path: string, differs?: keyof typeof REASONS): DropInCall {
  return differs === undefined ? [tool, { path }] : [tool, { path }, differs];
}

const READS: readonly DropInCall[] = [
  ['list_allowed_directories', {}],
  ...['a.txt', 'no-newline.txt', 'crlf.txt', 'empty.txt', 'blank.txt', 'umlauts.txt'].map((name) =>
    read(name),
  ),
  ...['two words.txt', 'long.txt', 'link.txt', 'sublink/b.txt', 'sub/../a.txt', './a.txt'].map((name) =>
    read(name),
  ),
  read('latin1.txt', 'notText'),
  read('bytes.dat', 'notText'),
  ['read_file', { path: r('a.txt') }],
  ['read_text_file', { path: 'a.txt' }],
  ['read_text_file', { path: 'sub/b.txt' }],
  ...[0, 1, 2, 3, 4, 10, 1.5].flatMap((head): DropInCall[] =>
    ['a.txt', 'no-newline.txt', 'crlf.txt', 'empty.txt', 'blank.txt', 'umlauts.txt', 'long.txt'].map(
      (name) => ['read_text_file', { path: r(name), head }],
    ),
  ),
  ...[0, 1, 2, 3, 10].map((tail): DropInCall => ['read_text_file', { path: r('no-newline.txt'), tail }]),
  ...[4, 10].map((tail): DropInCall => ['read_text_file', { path: r('a.txt'), tail }]),
  ...[1, 2, 3].map((tail): DropInCall => ['read_text_file', { path: r('a.txt'), tail }, 'tail']),
  ['read_text_file', { path: r('crlf.txt'), tail: 10 }, 'tail'],
  ['read_text_file', { path: r('no-newline.txt'), tail: 1.5 }, 'fraction'],
  ['read_text_file', { path: r('a.txt'), head: -1 }, 'negative'],
  ['read_text_file', { path: r('a.txt'), tail: -1 }, 'negative'],
  ['read_text_file', { path: r('a.txt'), head: 1, tail: 1 }],
  ...['missing.txt', 'nodir/missing.txt', 'sub'].map((name) => read(name)),
  ['read_text_file', { path: '/etc/hostname' }],
  read('out/hostname', 'target'),
  read('../x'),
  read('a.txt/x'),
  read('loop'),
  ['read_text_file', { path: './/sub/../missing.txt' }],
  read('dangling', 'dangling'),
  read('a.txt\0', 'nul'),
  ['read_text_file', { path: '' }, 'empty'],
  ['read_text_file', {}, 'arguments'],
  ['read_text_file', { path: 5 }, 'arguments'],
  ['read_text_file', { path: r('a.txt'), extra: 1 }],
  ['read_text_file', { path: 'C:\\x' }, 'windows'],
  ['read_text_file', { path: '~/x' }],
  ...['pic.png', 's.svg', 'x.MP3', 'y.flac', 'z.wav', 'o.ogg', 'g.gif', 'i.webp', 'j.JPG', 'k.bmp'].map(
    (name) => call('read_media_file', r(name)),
  ),
  ...['bytes.dat', 'a.txt', 'empty.txt', 'missing.png', 'sub'].map((name) =>
    call('read_media_file', r(name)),
  ),
  ['read_media_file', { path: '/etc/x.png' }],
  ['read_multiple_files', { paths: [r('a.txt'), r('empty.txt')] }],
  ['read_multiple_files', { paths: [r('a.txt'), r('missing.txt'), '/etc/hostname', r('sub')] }, 'each'],
  ['read_multiple_files', { paths: [r('bytes.dat')] }, 'notText'],
  ['read_multiple_files', { paths: [] }, 'arguments'],
];

const tree = (path: string, ...excludePatterns: string[]): DropInCall => [
  'directory_tree',
  { path, excludePatterns },
];
const search = (pattern: string, ...excludePatterns: string[]): DropInCall => [
  'search_files',
  { path: 'ROOT', pattern, excludePatterns },
];

const LISTS: readonly DropInCall[] = [
  ...['ROOT', '.', r('sub'), r('emptydir'), r('sublink'), r('missing'), r('a.txt'), '/etc'].map((path) =>
    call('list_directory', path),
  ),
  call('list_directory', r('out'), 'target'),
  ['list_directory_with_sizes', { path: r('sub') }],
  ['list_directory_with_sizes', { path: r('plain'), sortBy: 'size' }],
  ['list_directory_with_sizes', { path: r('plain'), sortBy: 'name' }],
  ['list_directory_with_sizes', { path: r('emptydir') }],
  ['list_directory_with_sizes', { path: r('missing') }],
  ['list_directory_with_sizes', { path: 'ROOT', sortBy: 'size' }, 'linkSize'],
  ['list_directory_with_sizes', { path: 'ROOT', sortBy: 'date' }, 'arguments'],
  ...[r('sub'), 'sub', 'ROOT', r('emptydir'), r('missing'), r('a.txt'), '/etc'].map((path) =>
    call('directory_tree', path),
  ),
  tree('ROOT', 'node_modules', '*.txt'),
  tree(r('sub'), '**/*.ts'),
  tree(r('sub'), 'deep'),
  tree(r('sub'), 'c.ts'),
  tree('ROOT', 'sub/deep/*'),
  tree('ROOT', 'sub/deep'),
  tree('ROOT', '{sub,node_modules}', '?ink.txt', '[ab].txt'),
  ...['*.txt', '**/*.ts', 'sub', 'sub/*', '**/deep/**', 'nothing', '*.TXT', '**/.*', '{a,long}.txt'].map(
    (pattern) => search(pattern),
  ),
  ...['[ab].txt', 'b.txt', '**/b.txt', '**/index.js', '**/bottom.txt'].map((pattern) => search(pattern)),
  ...['[!a]*.txt', '!(a).txt', '**.txt', '', '#a', '*sub*', '@(a|long).txt'].map((pattern) =>
    search(pattern, 'dangling', 'out', 'loop'),
  ),
  tree('ROOT', ''),
  tree('ROOT', '[!a]*.txt', '!**'),
  search('**/*.ts', '**/*.test.ts'),
  search('**/*.js', 'node_modules'),
  search('node_modules/**', 'node_modules/m/**'),
  ['search_files', { path: 'ROOT', pattern: '**/*' }],
  ['search_files', { path: 'sub', pattern: '*.txt' }],
  ['search_files', { path: r('sublink'), pattern: '*' }],
  ['search_files', { path: r('missing'), pattern: '*' }],
  ['search_files', { path: '/etc', pattern: '*' }],
  ...['a.txt', 'sub', 'link.txt', 'missing'].map((name) => call('get_file_info', r(name))),
  ['get_file_info', { path: '/etc' }],
];

const CHANGES: readonly DropInCall[] = [
  ...['n1', 'n1', 'n2/n3/n4', 'a.txt'].map((name) => call('create_directory', r(name))),
  ['create_directory', { path: '/etc/n' }],
  ['create_directory', { path: 'rel/dir' }],
  call('create_directory', r('a.txt/x')),
  ['write_file', { path: r('new.txt'), content: 'new\n' }],
  ['write_file', { path: r('new.txt'), content: 'again\n' }],
  read('new.txt'),
  ['write_file', { path: r('n1/in.txt'), content: 'héllo' }],
  ['write_file', { path: 'rel.txt', content: 'rel' }],
  ['write_file', { path: r('a.txt'), content: 'overwritten\n' }],
  read('a.txt'),
  ['write_file', { path: r('link.txt'), content: 'through\n' }],
  read('link.txt'),
  read('a.txt'),
  ['write_file', { path: r('nodir/x.txt'), content: 'x' }],
  ['write_file', { path: '/etc/x', content: 'x' }],
  ['write_file', { path: r('sub'), content: 'x' }, 'errno'],
  ['write_file', { path: r('a.txt') }, 'arguments'],
  ['write_file', { path: r('unseen.txt'), content: 'x' }, 'blind'],
  ['write_file', { path: r('out/x'), content: 'x' }, 'target'],
  read('one.txt'),
  read('edit.txt'),
  ['edit_file', { path: r('edit.txt'), edits: edits('beta', 'BETA'), dryRun: true }],
  read('edit.txt'),
  ['edit_file', { path: r('edit.txt'), edits: edits('beta', 'BETA') }],
  [
    'edit_file',
    { path: r('edit.txt'), edits: [...edits('alpha\nBETA', 'one\ntwo\nthree'), ...edits('delta\n', '')] },
  ],
  read('edit.txt'),
  ['edit_file', { path: r('edit.txt'), edits: edits('nope', 'x') }],
  ['edit_file', { path: r('edit.txt'), edits: [...edits('one', '1'), ...edits('nope', 'x')] }],
  ['edit_file', { path: r('edit.txt'), edits: [] }],
  ['edit_file', { path: r('edit.txt'), edits: edits('gamma', '```js') }],
  ['edit_file', { path: r('edit.txt'), edits: edits('one', '$& $1') }],
  read('edit.txt'),
  ['edit_file', { path: r('no-newline.txt'), edits: edits('three', 'THREE') }],
  ['edit_file', { path: r('missing.txt'), edits: edits('a', 'b') }],
  ['edit_file', { path: '/etc/passwd', edits: edits('a', 'b') }],
  ['edit_file', { path: r('sub'), edits: edits('a', 'b') }],
  ['edit_file', { path: r('empty.txt'), edits: edits('x', 'y') }],
  read('dup.txt'),
  ['edit_file', { path: r('dup.txt'), edits: edits('same', 'other') }, 'unique'],
  read('indent.py'),
  ['edit_file', { path: r('indent.py'), edits: edits('if x:\nreturn 1', 'if y:\nreturn 2') }, 'exact'],
  ['edit_file', { path: r('crlf.txt'), edits: edits('two', 'TWO') }],
  read('crlf.txt', 'endings'),
  ['edit_file', { path: r('long.txt'), edits: edits('line 10\n', 'LINE 10\n') }],
  ['edit_file', { path: './/one.txt', edits: edits('x', 'y'), dryRun: true }],
  ['edit_file', { path: './/one.txt', edits: edits('x', 'y') }],
  read('one.txt'),
  ['edit_file', { path: r('new.txt'), edits: edits('again', 'again') }],
  ['move_file', { source: r('mv.txt'), destination: r('moved.txt') }],
  ['move_file', { source: r('mv.txt'), destination: r('moved2.txt') }],
  ['move_file', { source: r('moved.txt'), destination: r('a.txt') }],
  ['move_file', { source: r('moved.txt'), destination: r('sub') }],
  ['move_file', { source: r('moved.txt'), destination: r('moved.txt') }],
  ['move_file', { source: r('moved.txt'), destination: r('.//moved.txt') }],
  ['move_file', { source: r('moved.txt'), destination: r('a.txt/x') }],
  ['move_file', { source: r('moved.txt'), destination: r('nodir/m.txt') }],
  ['move_file', { source: r('moved.txt'), destination: '/etc/moved' }],
  ['move_file', { source: '/etc/hostname', destination: r('h') }],
  ['move_file', { source: r('moved.txt'), destination: r('sub/moved.txt') }],
  ['move_file', { source: r('n2'), destination: r('n5') }],
  ['move_file', { source: 'rel.txt', destination: 'rel2.txt' }],
  ['move_file', { source: r('sub'), destination: r('sub/deep/sub') }, 'into'],
  ['list_directory', { path: 'ROOT' }],
  ['no_such_tool', {}, 'protocol'],
];

/** The calls that the test sends to the official server and to ours, one after the other. */
export const CALLS: readonly DropInCall[] = [...READS, ...LISTS, ...CHANGES];
