// Opens a workspace, which completes or reverts the changes of killed processes, and is killed itself
// before one of the system calls that change files. Exits with 0 if there are fewer such calls.
import { Sessions } from '../../src/session/sessions.ts';
import { beforeChangingCalls } from '../support/changing-calls.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly call: number;
}

const { root, home, call } = JSON.parse(process.argv[2] ?? '') as Settings;
let calls = 0;
beforeChangingCalls(() => {
  calls += 1;
  if (calls === call) process.kill(process.pid, 'SIGKILL');
});
await Sessions.open({ roots: [root], home });
process.exit(0);
