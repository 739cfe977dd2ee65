// The proxy in a process of its own: one JSON argument with the root and the upstream's command line.
import { runProxy } from '../../src/proxy/run-proxy.ts';
import { SketchSession } from '../proxy/sketch-session.ts';

const {
  root,
  command,
  args,
  graceMs = 1000,
} = JSON.parse(process.argv[2] ?? '{}') as {
  root: string;
  command: string;
  args: string[];
  graceMs?: number;
};
const session = new SketchSession(root);
const { stdin, stdout, stderr } = process;
process.exitCode = await runProxy({ session, command, args, stdin, stdout, stderr, graceMs });
session.close();
