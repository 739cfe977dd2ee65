// Keeps a long output of a command, larger than this process may write to a file. Sends the shown part and the files.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { KeptOutput } from '../../src/process/kept-output.ts';

const { home } = JSON.parse(process.argv[2] ?? '') as { readonly home: string };
const output = new KeptOutput(home, { id: 'one', session: 's' });
for (let line = 0; line < 100; line += 1) output.add(Buffer.from(`${String(line).padEnd(9_999)}\n`));
const { tail = '', ...shown } = output.end();
const last = tail.trim().split('\n').at(-1)?.trim();
process.send?.({ ...shown, head: '', last, files: readdirSync(join(home, 'outputs')) });
process.disconnect();
