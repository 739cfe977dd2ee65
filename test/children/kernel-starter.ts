// A process that starts after another one was killed, and cleans up when its parent sends a message.
import { openDisk } from '../../src/disk/context.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { PATHS } from '../support/changes.ts';
import { recoverAll } from '../support/recovery.ts';

const settings = JSON.parse(process.argv[2] ?? '') as { root: string; home: string; owner: string };
const workspace = Workspace.open([settings.root]);
const context = openDisk({ home: settings.home, owner: settings.owner, durability: 'none' });
process.once('message', () => {
  recoverAll(workspace, context, { change: 'killed', paths: PATHS });
  void context.close();
  process.exit(0);
});
process.send?.('ready');
