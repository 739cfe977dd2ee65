// Keeps the output of a command. The output is longer than the largest file that this process may
// write. Sends what would be shown of the output, and the names of the files that were kept.
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
