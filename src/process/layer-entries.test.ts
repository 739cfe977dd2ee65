import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandBench } from '../../test/support/command-bench.ts';
import { upperFolder } from './layer.ts';
import { type LayerEntry, layerEntries } from './layer-entries.ts';

const at = await commandBench();
const { here, attributes } = at;

function described(entry: LayerEntry): string {
  switch (entry.kind) {
    case 'gone':
      return `- ${entry.relative}`;
    case 'folder':
      return `${entry.copied ? '' : '+'}${entry.relative}/${entry.opaque ? ' opaque' : ''} ${entry.mode.toString(8)}`;
    case 'file':
      return `${entry.copied ? '' : '+'}${entry.relative} ${entry.mode.toString(8)} ${entry.size}`;
    case 'link':
      return `${entry.relative} -> ${entry.target}`;
    case 'special':
      return `${entry.relative} ${entry.special}`;
    case 'unnameable':
      return `${entry.relative} unnameable`;
    default:
      return entry satisfies never;
  }
}

describe.skipIf(here === undefined)('the entries of a layer', () => {
  it.each<[string, string, readonly string[]]>([
    ['a new file', 'echo x > n', ['+n 644 2']],
    ['an empty file', ': > n', ['+n 644 0']],
    ['a changed file', 'echo x >> a', ['a 644 4']],
    ['a file written with the same bytes', 'echo a > a', ['a 644 2']],
    ['a changed mode', 'chmod 600 a', ['a 600 2']],
    ['a file that its owner may not read', 'chmod 0 a', ['a 0 2']],
    ['a removed file', 'rm a', ['- a']],
    ['a file replaced by rename', 'echo new > t && mv t a', ['+a 644 4']],
    ['a new folder', 'mkdir n && echo x > n/f', ['+n/ 755', '+n/f 644 2']],
    ['a change in a folder', 'echo x > d/f', ['d/ 755', 'd/f 644 2']],
    ['a removed folder', 'rm -r d', ['- d']],
    ['a folder made again', 'rm -r d && mkdir d && echo x > d/g', ['+d/ opaque 755', '+d/g 644 2']],
    ['a folder in a folder made again', 'rm -r d && mkdir -p d/e', ['+d/ opaque 755', '+d/e/ opaque 755']],
    ['a renamed folder', 'mv d e', ['- d', '+e/ 755', '+e/f 644 4']],
    ['a folder without permissions', 'mkdir n && echo x > n/f && chmod 0 n', ['+n/ 0', '+n/f 644 2']],
    ['a file that became a folder', 'rm a && mkdir a', ['+a/ opaque 755']],
    ['a folder that became a file', 'rm -r d && echo x > d', ['+d 644 2']],
    ['a new link', 'ln -s /etc/passwd l', ['l -> /etc/passwd']],
    ['a file that became a link', 'ln -sf /etc/passwd a', ['a -> /etc/passwd']],
    ['a link to a folder outside', 'ln -s /etc e', ['e -> /etc']],
    ['a FIFO', 'mkfifo p', ['p fifo']],
    ['a name with a newline', "echo x > 'a\nb'", ['+a\nb 644 2']],
    ['a name that is not UTF-8', `echo x > "$(printf 'a\\377')"`, ['a\ufffd unnameable']],
    ['a link whose target is not UTF-8', `ln -s "$(printf 'a\\377')" l`, ['l unnameable']],
    ['nothing', 'true', []],
  ])('%s', async (_what, script, expected) => {
    at.put('a', 'a\n');
    at.put('d/f', 'd/f\n');
    const { layer, end } = await at.run(`umask 022; ${script}`);
    expect(end).toEqual({ kind: 'exited', code: 0, left: [] });
    if (attributes === undefined) throw new Error('no attributes');
    const entries = [...layerEntries(upperFolder(layer, 0), attributes)].map(described);
    expect(entries).toEqual(expected);
    expect(readFileSync(join(at.workspace, 'a'), 'utf8')).toBe('a\n');
    expect(readdirSync(at.workspace)).toEqual(['a', 'd']);
  });
});
