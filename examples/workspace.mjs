// Shared by the examples: a small workspace, the task, and the calls of a scripted model.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const root = mkdtempSync(join(tmpdir(), 'lookfirst-example-'));
const file = join(root, 'greeting.txt');
writeFileSync(file, 'Hello, word!\n');

export const task = 'Correct the spelling in greeting.txt.';

const edit = { path: 'greeting.txt', old_string: 'word', new_string: 'world' };
/** The calls of a hasty model: it edits blindly, reads because the refusal says so, and edits again. */
export const hasty = [
  ['edit_file', edit],
  ['read_file', { path: 'greeting.txt' }],
  ['edit_file', edit],
];

/** Prints the first line of what a tool answered. */
export const told = (text) => console.log(`> ${String(text).split('\n')[0]}`);

/** Prints the file as it is now. */
export const finish = () => console.log(`greeting.txt: ${readFileSync(file, 'utf8').trim()}`);
