// npm start: plays a scene with three agents in a temporary folder, then serves that folder to MCP clients, with the
// viewer. First builds output that is missing or older than its sources.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { playScene } from './scene.mjs';

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const command = join(project, 'dist/bin/lookfirst.js');

if (builtAt() < newestSource()) build();
const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-start-')));
const [shop, home] = [join(base, 'shop'), join(base, 'state')];
process.on('exit', () => rmSync(base, { recursive: true, force: true }));
mkdirSync(shop);
say('playing a scene: three agents work on a small shop …');
const { openSession } = await import('../dist/index.js');
await playScene({ openSession, root: shop, home, pauseMs: 60 });
serve();

/** Serves the scene's folder until a signal ends the server. */
function serve() {
  const env = { ...process.env, LOOKFIRST_HOME: home, LOOKFIRST_SESSION: '', LOOKFIRST_STORE: '' };
  const server = spawn(process.execPath, [command, 'serve', shop, '--http'], {
    cwd: shop,
    env,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let told = '';
  server.stderr.setEncoding('utf8').on('data', (chunk) => {
    told += chunk;
    const found = addresses(told);
    if (found === undefined) return;
    server.stderr.removeAllListeners('data');
    server.stderr.pipe(process.stderr);
    introduce(found);
  });
  // Pass signals on and keep running until the server exits, so that it can shut down in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => server.kill(signal));
  server.on('exit', (code) => {
    if (addresses(told) === undefined) process.stderr.write(told);
    process.exit(code ?? 1);
  });
  // End the server when the shell in which npm runs this script is gone: a killed shell does not pass
  // the signal on, and the server would keep running.
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || server.kill('SIGTERM'), 500);
}

/** What the server prints when it is ready; undefined until it has printed all of it. */
function addresses(told) {
  const url = /serving at (\S+)/.exec(told)?.[1];
  const viewer = /viewer: (\S+)\n/.exec(told)?.[1];
  const token = /token: ([\w-]+)\n/.exec(told)?.[1];
  return url === undefined || viewer === undefined ? undefined : { url, viewer, token };
}

function introduce({ url, viewer, token }) {
  process.stderr.write(`
Recorded a scene with three agents, refusals, a merge and an undo, in ${shop}.

  See it       ${viewer}
  Try it       an MCP server on that folder: ${url}
               ${token === undefined ? 'its token is in LOOKFIRST_TOKEN' : `Authorization: Bearer ${token}`}
  Use it       npm link, then in your project: lookfirst init claude-code --hooks
  Stop it      Ctrl-C removes the scene's folder; nothing else was touched
`);
}

function build() {
  if (!existsSync(join(project, 'node_modules/rolldown'))) {
    say('nothing is installed here yet; run npm ci --ignore-scripts first');
    process.exit(1);
  }
  say('building; this takes a few seconds …');
  try {
    execFileSync(process.execPath, ['scripts/build.mjs', 'program'], { cwd: project, stdio: 'inherit' });
  } catch {
    // The compiler has already printed the reason.
    say('the build failed, so nothing is served');
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

function say(text) {
  process.stderr.write(`lookfirst: ${text}\n`);
}
