#!/usr/bin/env node
/**
 * The program that npm links as `lookfirst`. Runs `main`, and caches its compiled code to start
 * faster.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stateFolder, userHome } from './config/home.ts';
import { whyNodeIsTooOld } from './config/node-version.ts';
import { keepCompiledCode } from './process/compile-cache.ts';

/** A hash of the bundled code. The build inserts it. */
declare const BUILD: string;

const { argv } = process;
const tooOld = whyNodeIsTooOld(process.versions.node);
if (tooOld !== undefined) {
  process.stderr.write(`lookfirst: ${tooOld} [CONFIG_INVALID]\n`);
  process.exit(1);
}
restoreCertificates(process.env);
const sources = join(dirname(fileURLToPath(import.meta.url)), '..', 'chunks');
const save = keepCompiled();
// The build makes `main.cjs` from main.ts.
const { main } = createRequire(import.meta.url)(join(sources, 'main.cjs')) as typeof import('./main.ts');
void main(argv).then((code) => {
  save();
  process.exit(code);
});

/**
 * Restores `NODE_EXTRA_CA_CERTS` for child processes. The hook scripts move its value to
 * `LOOKFIRST_EXTRA_CA_CERTS`, because Node starts faster without it; see `WITHOUT_CERTIFICATES`.
 */
function restoreCertificates(env: NodeJS.ProcessEnv): void {
  const hidden = env['LOOKFIRST_EXTRA_CA_CERTS'];
  if (hidden === undefined) return;
  env['NODE_EXTRA_CA_CERTS'] = hidden;
  delete env['LOOKFIRST_EXTRA_CA_CERTS'];
}

/**
 * Keeps compiled code in the state folder for later starts. Returns a function that saves the code
 * if Node does not do so itself. The caller must call that function before the process ends.
 */
function keepCompiled(): () => void {
  const { env, platform } = process;
  const nothing = (): void => undefined;
  const chosen = env['LOOKFIRST_COMPILE_CACHE'];
  if (chosen === 'off') return nothing;
  try {
    const home = stateFolder({ platform, env, homeFolder: userHome() });
    const folders = chosen ? [chosen] : [home, join(home, 'compiled')];
    return keepCompiledCode({ folders, sources, name: `${kindOfStart()}-${BUILD}` }) ?? nothing;
  } catch {
    // Continue without the cache: the program only starts more slowly. If the state folder cannot
    // be used, `main` reports it.
    return nothing;
  }
}

/**
 * The kind of this start. Starts of one kind run mostly the same code, so they share one cache of
 * compiled code.
 */
function kindOfStart(): string {
  const [word = 'serve', ...rest] = argv.slice(2);
  if (word === 'hook') return rest.includes('--resident') ? 'resident' : 'hook';
  return word === 'serve' || !/^-{0,2}[a-z]+$/.test(word) ? 'serve' : 'command';
}
