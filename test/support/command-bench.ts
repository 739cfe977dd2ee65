import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { loadNative } from '../../src/disk/context.ts';
import { removeLayer } from '../../src/process/layer.ts';
import { type CommandRequest, type CommandRun, Processes } from '../../src/process/processes.ts';
import type { Profile, SandboxTools } from '../../src/process/sandbox.ts';
import { sandboxHere } from './sandbox.ts';

const LIMITS = { timeoutMs: 20_000, maxProcesses: 200, memoryBytes: 1 << 30, fileBytes: 1 << 24 };
export const UNDO: Profile = { kind: 'undo' };
export const CONFINE: Profile = { kind: 'confine', network: 'off', limits: LIMITS };

/** Fields that differ from those of an ordinary request. */
type RequestChanges = Partial<CommandRequest> & {
  readonly processes?: Processes;
  readonly tools?: Partial<SandboxTools> | undefined;
};

export interface CommandBench {
  /** The sandbox of this machine; undefined if it has none. */
  readonly here: Awaited<ReturnType<typeof sandboxHere>>;
  readonly attributes: ReturnType<typeof loadNative>;
  home: string;
  workspace: string;
  put(path: string, text?: string): void;
  processes(env?: NodeJS.ProcessEnv): Processes;
  run(script: string, changes?: RequestChanges): Promise<CommandRun>;
}

/** A state folder and a workspace for each test of the file that calls this, and commands that run in them. */
export async function commandBench(): Promise<CommandBench> {
  const here = await sandboxHere();
  const attributes = loadNative();
  let count = 0;
  const at: CommandBench = {
    here,
    attributes,
    home: '',
    workspace: '',
    put(path, text = `${path}\n`) {
      mkdirSync(join(at.workspace, path, '..'), { recursive: true });
      writeFileSync(join(at.workspace, path), text);
    },
    processes: (env = process.env) => new Processes({ home: at.home, env, attributes }),
    async run(script, changes = {}) {
      if (here === undefined) throw new Error('no sandbox');
      const { processes = at.processes(), tools, ...request } = changes;
      count += 1;
      return processes.run(
        {
          id: `r${count}`,
          session: 's',
          profile: UNDO,
          layered: [at.workspace],
          mounted: [],
          boundThrough: [],
          cwd: at.workspace,
          command: ['/bin/sh', '-c', script],
          hide: [],
          env: [],
          timeoutMs: 20_000,
          output: 'kept',
          ...request,
        },
        { ...here, tools: { ...here.tools, ...tools } },
      );
    },
  };
  beforeEach(() => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-process-')));
    at.home = join(base, 'state');
    at.workspace = join(base, 'work, space:1');
    mkdirSync(at.home, { mode: 0o700 });
    mkdirSync(at.workspace);
  });
  afterEach(() => removeLayer({ folder: join(at.home, '..') }));
  return at;
}
