import { expect, it } from 'vitest';
import { leavesProcesses } from './leftovers.ts';

it.each([
  ['server &'],
  ['nohup npm run dev > log 2>&1 &'],
  ['cd app && npm start &'],
  ['(server &)'],
  ['{ server & }; sleep 1; curl localhost'],
  ['if true; then server & fi'],
  ['for i in 1 2; do worker $i & done'],
  ["bash -c 'server & sleep 1'"],
  ["eval 'server &'"],
  ['echo $(server > /dev/null & echo $!)'],
  ['a & wait; b &'],
  ['setsid -f server'],
  ['tmux new -d server'],
  ['gunicorn app --daemon'],
  ['/usr/bin/screen -dm server'],
])('a line leaves processes running: %s', (line) => {
  expect(leavesProcesses(line)).toBe(true);
});

it.each([
  ['server'],
  ['nohup server'],
  ['a && b'],
  ['a 2>&1 | tee log'],
  ['a &> log'],
  ['a & b & wait'],
  ['server & pid=$!; sleep 1; curl localhost; kill $pid'],
  ['server & sleep 1; curl localhost; pkill -f server'],
  ['server & trap "kill $!" EXIT; kill %1'],
  ["cat > run.sh <<'EOF'\nserver &\nEOF"],
  ["echo 'server &'"],
  ['server & ('],
])('a line leaves nothing running, as far as it shows: %s', (line) => {
  expect(leavesProcesses(line)).toBe(false);
});
