/** What a tool does to files, whatever its host calls it. */
export type ToolKind =
  | 'read'
  | 'read-numbered'
  | 'read-raw'
  | 'read-many'
  | 'write'
  | 'edit'
  | 'batch'
  | 'text-editor'
  | 'patch'
  | 'shell'
  | 'search';

/** Names without case, `_` and `-`, and with a capital, as the commonest hosts spell them. `read-numbered`: a text without line numbers is no view of the file, but a message. */
const KINDS: ReadonlyMap<string, ToolKind> = new Map<string, ToolKind>([
  ...names('read', 'read readfile fileread view viewfile openfile readfilerange'),
  ...names('read-raw', 'readtextfile readtext'),
  ...names('read-many', 'readmultiplefiles readfiles'),
  ...names('write', 'write writefile filewrite createfile savefile writetextfile'),
  ...names(
    'edit',
    'edit editfile fileedit multiedit replace strreplace insertlines fileinsert searchreplace',
  ),
  ...names('batch', 'applychanges'),
  ...names('text-editor', 'strreplacebasededittool strreplaceeditor texteditor memory'),
  ...names('patch', 'applypatch'),
  ...names(
    'shell',
    'bash shell localshell execcommand runshellcommand runcommand executecommand runinterminal shellcommand exec',
  ),
  ...names('search', 'grep grepsearch searchtext ripgrepsearch searchfilecontent'),
]);

/** Hosts put a server's name before a tool's: `mcp__files__read_file`, `files_read_file`, `files.read_file`. */
const PREFIX = /^.*(?:__|[./:])/;

/** The kind of a tool by its name; undefined for tools that show no file. `Read`, spelt so, always numbers its lines. */
export function toolKind(name: string): ToolKind | undefined {
  return kindOf(name) ?? unprefixedKind(name.replace(PREFIX, ''));
}

function unprefixedKind(bare: string): ToolKind | undefined {
  return kindOf(bare) ?? KINDS.get(plain(bare)) ?? suffixKind(bare);
}

function kindOf(name: string): ToolKind | undefined {
  return name === 'Read' ? 'read-numbered' : KINDS.get(name);
}

/** Only names of two words or more are recognised behind an unknown prefix: `my_read` is not known to read files. */
function suffixKind(name: string): ToolKind | undefined {
  const words = name.split('_');
  for (let first = 1; first < words.length - 1; first += 1) {
    const kind = KINDS.get(plain(words.slice(first).join('')));
    if (kind !== undefined) return kind;
  }
  return undefined;
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

function names(kind: ToolKind, list: string): [string, ToolKind][] {
  return list.split(' ').flatMap((name) => [
    [name, kind],
    [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, kind],
  ]);
}
