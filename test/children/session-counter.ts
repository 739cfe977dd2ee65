// Increments the counters of shared files, one edit at a time, and reads a file again when another process was faster.
// Reports at the end how many edits were acknowledged and the codes of its refusals.
import { openSession } from '../../src/session/sessions.ts';
import { random } from '../support/random.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly session: string;
  readonly files: readonly string[];
  readonly edits: number;
  readonly options?: object;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const { root, home, session: id, options } = settings;
const session = await openSession({ roots: [root], home, session: id, ...options });
const { pick } = random(settings.session.charCodeAt(0));
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));
const refusals: Record<string, number> = {};
for (let done = 0; done < settings.edits; ) if (await increment(pick(settings.files))) done += 1;
await session.close();
process.send?.({ acknowledged: settings.edits, refusals });
process.disconnect();

async function increment(file: string): Promise<boolean> {
  const seen = await session.read(file);
  const [line, value] = (seen.ok && /^count: (\d+)$/m.exec(seen.text)) || [];
  if (line === undefined) throw new Error(`cannot read ${file}: ${JSON.stringify(seen)}`);
  const outcome = await session.edit(file, [
    { oldString: `${line}\n`, newString: `count: ${Number(value) + 1}\n` },
  ]);
  if (outcome.ok) return true;
  refusals[outcome.refusal.code] = (refusals[outcome.refusal.code] ?? 0) + 1;
  return false;
}
