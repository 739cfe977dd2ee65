// Serves the folder in which npm was called. First builds output that is missing or older than its sources.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const command = join(project, 'dist/bin/lookfirst.js');

if (builtAt() < newestSource()) build();
const cwd = process.env.INIT_CWD ?? process.cwd();
const args = [command, 'serve', '--http', '--show-config', ...process.argv.slice(2)];
const server = spawn(process.execPath, args, { cwd, stdio: 'inherit' });
// Pass signals on and keep running until the server exits, so that it can shut down in order.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => server.kill(signal));
server.on('exit', (code) => process.exit(code ?? 1));
// End the server when the shell in which npm runs this script is gone: a killed shell does not pass
// the signal on, and the server would keep running.
const parent = process.ppid;
setInterval(() => process.ppid === parent || server.kill('SIGTERM'), 500);

function build() {
  if (!existsSync(join(project, 'node_modules/rolldown'))) {
    process.stderr.write('lookfirst: nothing is installed here yet; run npm ci --ignore-scripts first\n');
    process.exit(1);
  }
  process.stderr.write('lookfirst: building …\n');
  try {
    execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: project, stdio: 'inherit' });
  } catch {
    // The compiler has already printed the reason.
    process.stderr.write('lookfirst: the build failed, so nothing is served\n');
    process.exit(1);
  }
}

function builtAt() {
  return statSync(command, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestSource() {
  const entries = readdirSync(join(project, 'src'), { recursive: true, withFileTypes: true });
  const times = entries
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return Math.max(...times);
}
