// Makes one change, and kills itself with SIGKILL just before the given step. Exits with code 3 if
// the change has no such step.
import { openDisk } from '../../src/disk/context.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { type ChangeName, change } from '../support/changes.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly commit: 'exchange' | 'claim';
  readonly name: ChangeName;
  readonly step: string;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const context = openDisk({
  home: settings.home,
  owner: 'killed',
  durability: 'full',
  commit: settings.commit,
  trace: (step) => {
    if (step === settings.step) process.kill(process.pid, 'SIGKILL');
  },
});
await change(Workspace.open([settings.root]), context, settings.name);
process.exit(3);
