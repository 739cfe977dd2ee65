// Makes changes one after the other and sends how each ended. The test runs this program under a
// tool that makes system calls fail.
import { openDisk } from '../../src/disk/context.ts';
import { Fault } from '../../src/model/fault.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { type ChangeName, change } from '../support/changes.ts';

export interface Job extends Pick<Parameters<typeof openDisk>[0], 'home' | 'durability' | 'commit'> {
  readonly root: string;
  readonly name: ChangeName;
}

/** `done`: true if the change was made. A fault has a reason and a message instead. */
export type Ended = { readonly done: boolean } | { readonly reason: string; readonly message: string };

async function perform(job: Job): Promise<Ended> {
  const context = openDisk({ ...job, owner: 'changer' });
  const workspace = Workspace.open([job.root]);
  try {
    return { done: await change(workspace, context, job.name) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { reason: error.reason ?? '', message: error.message };
  } finally {
    workspace.close();
    await context.close();
  }
}

// The test passes the jobs as one JSON argument.
for (const job of JSON.parse(process.argv[2] ?? '') as Job[]) process.send?.(await perform(job));
process.disconnect();
