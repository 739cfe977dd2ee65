// Announces a write of another program, makes that write, and is killed before it can settle the change.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnnounceOptions } from '../../src/model/session.ts';
import { openSession } from '../../src/session/sessions.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly path: string;
  readonly content: string;
  readonly options: AnnounceOptions;
  /** The other program's progress when the process is killed. */
  readonly program: 'writes' | 'waits';
}

const { root, home, path, content, options, program } = JSON.parse(process.argv[2] ?? '') as Settings;
const session = await openSession({ roots: [root], home, session: 'announcer' });
await session.read(path);
const announced = await session.announce([{ kind: 'write', path, content }], options);
if (announced.ok && program === 'writes') writeFileSync(join(root, path), content);
process.send?.(announced, undefined, undefined, () => process.kill(process.pid, 'SIGKILL'));
