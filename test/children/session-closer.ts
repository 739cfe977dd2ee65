// Each message is the name of a session, which this process opens. The message `close` closes the
// session that was opened last.
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions, type WorkspaceOptions } from '../../src/session/sessions.ts';

const sessions = await Sessions.open(JSON.parse(process.argv[2] ?? '') as WorkspaceOptions);
let session: GatedSession | undefined;
process.on('message', async (message: string) => {
  if (message === 'close') await session?.close();
  else session = await sessions.session(message);
  process.send?.('done');
});
process.send?.('ready');
