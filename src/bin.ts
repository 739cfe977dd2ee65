#!/usr/bin/env node
/**
 * The program that npm links as `lookfirst`. Runs `main`, and lets Node cache its compiled code to
 * start faster.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stateFolder, userHome } from './config/home.ts';
import { whyNodeIsTooOld } from './config/node-version.ts';
import { keepCompiledCode } from './process/compile-cache.ts';

const { argv } = process;
const tooOld = whyNodeIsTooOld(process.versions.node);
if (tooOld !== undefined) {
  process.stderr.write(`lookfirst: ${tooOld} [CONFIG_INVALID]\n`);
  process.exit(1);
}
restoreCertificates(process.env);
const sources = join(dirname(fileURLToPath(import.meta.url)), '..', 'chunks');
keepCompiled();
// The build makes `main.cjs` from main.ts.
const { main } = createRequire(import.meta.url)(join(sources, 'main.cjs')) as typeof import('./main.ts');
void main(argv).then((code) => process.exit(code));

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

/** Keeps compiled code in the state folder for later starts. */
function keepCompiled(): void {
  const { env, platform } = process;
  const chosen = env['LOOKFIRST_COMPILE_CACHE'];
  if (chosen === 'off') return;
  try {
    const home = stateFolder({ platform, env, homeFolder: userHome() });
    keepCompiledCode(chosen ? [chosen] : [home, join(home, 'compiled')]);
  } catch {
    // Continue without the cache: the program only starts more slowly. If the state folder cannot
    // be used, `main` reports it.
  }
}
