// Runs the proxy as a process. One JSON argument contains the root and the command line of the
// server behind the proxy.
import { runProxy } from '../../src/proxy/open-proxy.ts';
import { TestGate } from '../proxy/gate.ts';

const {
  root,
  home,
  command,
  args,
  graceMs = 1000,
} = JSON.parse(process.argv[2] ?? '{}') as {
  root: string;
  home: string;
  command: string;
  args: string[];
  graceMs?: number;
};
const gate = await TestGate.open(root, home);
const { stdin, stdout, stderr } = process;
const { session } = gate;
process.exitCode = await runProxy({ session, root, command, args, stdin, stdout, stderr, graceMs });
await gate.close();
