// A process that does one of two things, which the setting `work` chooses. `undo`: undoes a change
// that made a folder. `naive`: removes a folder without Lookfirst. The process sends its parent a message at the beginning and at the end.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Sessions } from '../../src/session/sessions.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly work: 'undo' | 'naive';
  readonly change: string;
}

const { root, home, work, change } = JSON.parse(process.argv[2] ?? '') as Settings;
const sessions = await Sessions.open({ roots: [root], home });
const session = await sessions.session('ann');
process.send?.('begin');
if (work === 'undo') {
  const outcome = await session.undo({ change });
  process.send?.(outcome.ok ? (outcome.change ?? '') : JSON.stringify(outcome.refusal));
} else {
  rmSync(join(root, 'd'), { recursive: true });
  process.send?.('');
}
process.disconnect();
