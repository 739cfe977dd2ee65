import { accessSync, constants, mkdirSync, readFileSync, statfsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { errnoOf, HOME_CURE } from '../model/fault.ts';
import { makeLayer, removeLayer, upperFolder } from './layer.ts';
import { type AttributeReader, layerEntries } from './layer-entries.ts';
import { COMMAND_VARIABLE, runSandboxed } from './run-sandboxed.ts';
import type { SandboxTools } from './sandbox.ts';

/** The result of testing whether commands can run here. If they cannot: what is missing, and how to install it. */
export type Probe =
  | { readonly ok: true; readonly tools: SandboxTools; readonly attributes: AttributeReader }
  | { readonly ok: false; readonly missing: string; readonly cure: string };

interface ProbeOptions {
  /** The state folder, in which the sandbox collects a command's writes. */
  readonly home: string;
  readonly platform: string;
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly attributes: AttributeReader | undefined;
  /** The name of the temporary folder that collects the writes of the test command. */
  readonly id: string;
  /** The tag that identifies this process as the owner of the test; see `abandonedLayers`. */
  readonly owner: string | undefined;
}

const OVERLAY_MAGIC = 0x794c7630;
const TIMEOUT_MS = 20_000;

/**
 * Tests whether commands can run here. Builds a sandbox over a temporary folder, lets a command
 * create, change and remove files in it, and reads the writes that the sandbox collected.
 */
export async function probe(options: ProbeOptions): Promise<Probe> {
  if (options.platform !== 'linux') {
    return no(
      `commands need Linux: ${options.platform} has no overlay file system`,
      'run Lookfirst on Linux, or under WSL 2 on Windows',
    );
  }
  const { attributes } = options;
  if (attributes === undefined) {
    return no(
      'extended attributes cannot be read here, so deletions in a layer would be missed',
      'install the optional package fs-native-extensions (npm install without --omit=optional)',
    );
  }
  const programs = findAll(options);
  if ('missing' in programs) return programs;
  try {
    return await tryAll(programs, options, attributes);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const cure = errno === 'ENOSPC' || errno === 'EDQUOT' ? 'free some space there' : HOME_CURE;
    return no(`the state folder ${options.home} cannot be written (${errno})`, cure);
  }
}

async function tryAll(
  programs: Programs,
  options: ProbeOptions,
  attributes: AttributeReader,
): Promise<Probe> {
  const failures: string[] = [];
  for (const namespace of options.uid === 0 ? (['root', 'user'] as const) : (['user'] as const)) {
    const tools = { ...programs, namespace, uid: options.uid, gid: options.gid };
    const failure = await attempt(tools, options, attributes);
    if (failure === undefined) return { ok: true, tools, attributes };
    failures.push(failure);
  }
  return explain([...new Set(failures)].join('; '), options.home);
}

function no(missing: string, cure: string): Extract<Probe, { ok: false }> {
  return { ok: false, missing, cure };
}

type Programs = Pick<SandboxTools, 'unshare' | 'mount' | 'bwrap' | 'prlimit' | 'shell'>;

function findAll({ path }: ProbeOptions): Programs | Extract<Probe, { ok: false }> {
  const bwrap = find('bwrap', path);
  if (bwrap === undefined) {
    return no(
      'bubblewrap (the program bwrap) is not installed',
      'install it: apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap or apk add bubblewrap',
    );
  }
  const [unshare, mount, prlimit] = ['unshare', 'mount', 'prlimit'].map((name) => find(name, path));
  if (unshare === undefined || mount === undefined || prlimit === undefined)
    return no('unshare, mount or prlimit is not installed', 'install util-linux');
  return { bwrap, unshare, mount, prlimit, shell: find('bash', path) ?? '/bin/sh' };
}

/**
 * Finds a program on the PATH, and in the folders of administrators' programs, which a user's PATH
 * often lacks.
 */
function find(name: string, path: string): string | undefined {
  const folders = [...path.split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  return folders
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const TRIAL = 'mkdir d && echo x > d/f && rm -r gone && mkdir gone';

/**
 * Runs the test command in a sandbox. Returns the reason why the sandbox failed, or undefined if it
 * works.
 */
async function attempt(
  tools: SandboxTools,
  { home, id, owner }: ProbeOptions,
  attributes: AttributeReader,
): Promise<string | undefined> {
  const { id: name, folder: trial } = makeLayer(home, `${id}${tools.namespace}`, [], owner);
  const workspace = join(trial, 'workspace');
  mkdirSync(join(workspace, 'gone', 'inner'), { recursive: true, mode: 0o700 });
  try {
    const layer = makeLayer(trial, 'trial', [workspace]);
    const end = await runSandboxed(
      tools,
      {
        profile: { kind: 'undo' },
        layer,
        layered: [workspace],
        mounted: [],
        boundThrough: [],
        hidden: [],
        cwd: workspace,
        command: ['/bin/sh', '-c', TRIAL],
        streams: 'one',
      },
      { env: { PATH: '/usr/bin:/bin', [COMMAND_VARIABLE]: name }, timeoutMs: TIMEOUT_MS, output: () => {} },
    );
    if (end.kind === 'not-started') return end.reason;
    if (end.kind === 'ended') return 'a test command in the sandbox did not end';
    if (end.code !== 0) return `a test command in the sandbox ended with ${end.code}`;
    const entries = [...layerEntries(upperFolder(layer, 0), attributes)];
    const found = entries.map((entry) => `${entry.kind} ${entry.relative}`).join(', ');
    if (found !== 'folder d, file d/f, folder gone')
      return `a test command in the sandbox left other files than expected: ${found || 'none'}`;
    const gone = entries.at(-1);
    return gone?.kind === 'folder' && gone.opaque
      ? undefined
      : 'the overlay file system does not mark replaced folders';
  } finally {
    removeLayer({ folder: trial });
  }
}

function explain(failure: string, home: string): Probe {
  if (/unshare|uid_map|setting up uid map|Creating new namespace|No permissions/i.test(failure)) {
    return no(`this user may not create namespaces (${failure})`, namespaceCure());
  }
  if (statfsSync(home).type === OVERLAY_MAGIC) {
    return no(
      `the state folder ${home} is itself on an overlay file system, as in a container (${failure})`,
      'set LOOKFIRST_HOME to a folder on a volume or a tmpfs',
    );
  }
  return no(
    `an overlay cannot be mounted (${failure})`,
    'Linux 5.11 or newer is needed, and a state folder (LOOKFIRST_HOME) on a local file system with extended attributes',
  );
}

function namespaceCure(): string {
  if (read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'AppArmor forbids user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows bwrap and unshare';
  }
  if (read('/proc/sys/kernel/unprivileged_userns_clone') === '0')
    return 'allow user namespaces: sysctl kernel.unprivileged_userns_clone=1';
  if (read('/proc/sys/user/max_user_namespaces') === '0')
    return 'allow user namespaces: sysctl user.max_user_namespaces=10000';
  return 'in a container, allow namespaces (for Docker: --security-opt seccomp=unconfined, or --cap-add SYS_ADMIN)';
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
