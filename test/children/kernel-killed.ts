// Makes one change and is killed with SIGKILL just before one of its steps. If no step is given, it only lists the
// steps.
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
await context.ready?.fill();
await change(Workspace.open([settings.root]), context, settings.name);
process.exit(3);
