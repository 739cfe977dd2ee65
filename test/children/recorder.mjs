// Usage: `recorder.mjs FILE COMMAND ARGS...`. Starts COMMAND and passes everything from standard
// input on to COMMAND. Also writes the input into FILE.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';

const [file, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
process.stdin.pipe(createWriteStream(file));
process.stdin.pipe(child.stdin);
child.on('exit', (code) => process.exit(code ?? 1));
