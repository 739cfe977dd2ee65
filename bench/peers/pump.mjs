// The simplest program between a client and a server: starts the server, passes bytes both ways and
// parses nothing. Its time is the lower limit for any such program.
import { spawn } from 'node:child_process';

const [command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.on('data', (chunk) => server.stdin.write(chunk)).on('end', () => server.stdin.end());
server.stdout.on('data', (chunk) => process.stdout.write(chunk));
server.on('exit', () => process.exit());
