/**
 * One row: a tree, the path given to an operation, and the place to which the path leads. The tree
 * is written in the notation of Go's tests; see test/support/tree.ts. Outside the root, each folder
 * contains a file `f`, a link `k => f` and a folder `empty/`.
 */
export interface Row {
  readonly title: string;
  readonly tree: readonly string[];
  readonly path: string;
  /**
   * `outside`: every operation refuses the path. `inside`: the path of the file that is really
   * meant, relative to the root.
   */
  readonly leads: 'outside' | { readonly inside: string };
  /** The refusal's code, if it is not OUTSIDE_WORKSPACE. */
  readonly code?: string;
  /**
   * Set if the path ends in a link. Operations that remove or move names then act on the link,
   * which is inside the root.
   */
  readonly leaf?: 'link';
  /**
   * `none`: the system itself refuses this path, so even code without our checks stays inside. Such
   * a row cannot be tested with plain code.
   */
  readonly control?: 'none';
}

const outside = 'outside' as const;

export const ROWS: readonly Row[] = [
  { title: 'a plain file', tree: ['f'], path: 'f', leads: { inside: 'f' } },
  { title: 'a file in a folder', tree: ['d/f'], path: 'd/f', leads: { inside: 'd/f' } },
  { title: 'dots and doubled slashes', tree: ['d/f'], path: './d//./f', leads: { inside: 'd/f' } },
  { title: 'up and down inside', tree: ['d/f', 'e/'], path: 'e/../d/f', leads: { inside: 'd/f' } },
  { title: 'a name that begins with dots', tree: ['..d/..f'], path: '..d/..f', leads: { inside: '..d/..f' } },
  { title: 'an absolute path inside', tree: ['f'], path: 'ROOT/f', leads: { inside: 'f' } },
  { title: 'a link to a folder on the way', tree: ['d/f', 'l => d'], path: 'l/f', leads: { inside: 'd/f' } },
  {
    title: 'two links on the way',
    tree: ['d/f', 'l => m', 'm => d'],
    path: 'l/f',
    leads: { inside: 'd/f' },
  },
  {
    title: 'an absolute link to the inside',
    tree: ['d/f', 'l => ROOT/d'],
    path: 'l/f',
    leads: { inside: 'd/f' },
  },
  {
    title: 'a link with ".." that stays inside',
    tree: ['d/f', 'e/l => ../d'],
    path: 'e/l/f',
    leads: { inside: 'd/f' },
  },
  { title: 'one step up', tree: [], path: '../outside/f', leads: outside },
  { title: 'up from a folder', tree: ['d/'], path: 'd/../../outside/f', leads: outside },
  { title: 'far up', tree: [], path: '../../../../../../../../OUTSIDE/f', leads: outside },
  { title: 'an absolute path', tree: [], path: 'OUTSIDE/f', leads: outside },
  { title: 'an absolute path through the root', tree: [], path: 'ROOT/../outside/f', leads: outside },
  { title: 'a sibling with the same beginning', tree: [], path: 'ROOT-evil/f', leads: outside },
  { title: 'a sibling with the same beginning, relative', tree: [], path: '../root-evil/f', leads: outside },
  { title: 'an absolute link to a file', tree: ['l => OUTSIDE/f'], path: 'l', leads: outside, leaf: 'link' },
  {
    title: 'a relative link to a file',
    tree: ['l => ../outside/f'],
    path: 'l',
    leads: outside,
    leaf: 'link',
  },
  { title: 'an absolute link to a folder', tree: ['l => OUTSIDE'], path: 'l/f', leads: outside },
  { title: 'a relative link to a folder', tree: ['l => ../outside'], path: 'l/f', leads: outside },
  { title: 'a link to a folder, and deeper', tree: ['l => OUTSIDE/d'], path: 'l/f', leads: outside },
  { title: 'a link below a folder', tree: ['d/l => ../../outside/d'], path: 'd/l/f', leads: outside },
  {
    title: 'a chain of links',
    tree: ['l => m', 'm => n', 'n => OUTSIDE/f'],
    path: 'l',
    leads: outside,
    leaf: 'link',
  },
  {
    title: 'a link reached through a link inside',
    tree: ['d/l => ../../outside', 'e => d'],
    path: 'e/l/f',
    leads: outside,
  },
  {
    title: 'a link whose target goes down and then outside',
    tree: ['a/b/', 'l => a/b/../../../outside'],
    path: 'l/f',
    leads: outside,
  },
  {
    title: 'a link through a linked folder and up from its target',
    tree: ['a/b/', 'l => a/b', 'm => l/../../../outside'],
    path: 'm/f',
    leads: outside,
  },
  { title: 'a link to the folder above', tree: ['l => ..'], path: 'l/outside/f', leads: outside },
  { title: 'a link to the root of everything', tree: ['l => /'], path: 'l/OUTSIDE/f', leads: outside },
  { title: 'a link to a sibling', tree: ['l => ROOT-evil'], path: 'l/f', leads: outside },
  {
    title: 'a magic link of the system',
    tree: ['l => /proc/self/root'],
    path: 'l/OUTSIDE/f',
    leads: outside,
  },
  {
    title: 'a magic link to the working folder',
    tree: ['l => /proc/self/cwd'],
    path: 'l/f',
    leads: outside,
    control: 'none',
  },
  { title: 'a link to itself', tree: ['l => l'], path: 'l', leads: outside, leaf: 'link', control: 'none' },
  {
    title: 'a file as a folder',
    tree: ['x'],
    path: 'x/f',
    leads: outside,
    code: 'NOT_A_FILE',
    control: 'none',
  },
  {
    title: 'a NUL',
    tree: [],
    path: '../outside/f\0',
    leads: outside,
    code: 'INVALID_ARGUMENT',
    control: 'none',
  },
];
