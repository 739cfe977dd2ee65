import { expect, it } from 'vitest';
import { startChild } from '../support/child.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { scratch } from '../support/tree.ts';

const here = await sandboxHere();

it.skipIf(here === undefined)(
  'a process without free file descriptors starts no command, and lives on',
  async () => {
    const { root, home } = scratch();
    const few = ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"'];
    const child = await startChild('session-no-descriptors', { root, home }, few);
    expect(await child.message()).toEqual({
      ended: Array(4).fill('IO_FAILED EMFILE'),
      text: 'begun\nended\n',
    });
  },
);
