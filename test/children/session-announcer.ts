// Announces a write of another program. In the mode `writes`, then makes this write itself, as the
// other program would. At the end, kills itself without recording the outcome.
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
  /**
   * `writes`: the other program has written the file when this process is killed. `waits`: it has
   * not written yet.
   */
  readonly program: 'writes' | 'waits';
}

const { root, home, path, content, options, program } = JSON.parse(process.argv[2] ?? '') as Settings;
const session = await openSession({ roots: [root], home, session: 'announcer' });
await session.read(path);
const announced = await session.announce([{ kind: 'write', path, content }], options);
if (announced.ok && program === 'writes') writeFileSync(join(root, path), content);
process.send?.(announced, undefined, undefined, () => process.kill(process.pid, 'SIGKILL'));
