import type { FaultCode } from '../../src/model/fault.ts';
import type { Session } from '../../src/model/session.ts';
import type { SessionOptions } from '../../src/session/sessions.ts';
import { type Child, startChild } from '../support/child.ts';

type Method = Exclude<keyof Session, 'id' | 'roots' | 'fork' | 'child'>;

type Answer = { readonly value: unknown } | { readonly fault: RemoteFault };

interface RemoteFault {
  readonly code: FaultCode | 'BUG';
  readonly message: string;
}

/**
 * A session in another process, with the interface of a local one. A Fault there is thrown here as
 * an Error whose message begins with the fault's code.
 */
export class Remote {
  readonly id: string;
  readonly child: Child;

  constructor(id: string, child: Child) {
    this.id = id;
    this.child = child;
  }

  async call<Name extends Method>(
    method: Name,
    ...args: Parameters<Session[Name]>
  ): Promise<Awaited<ReturnType<Session[Name]>>> {
    this.child.send(JSON.stringify({ method, args }));
    const answer = await this.child.message<Answer>();
    if ('fault' in answer) throw new Error(`${answer.fault.code}: ${answer.fault.message}`);
    // The cast is safe: a session returns plain data, and the child sent it unchanged.
    return answer.value as Awaited<ReturnType<Session[Name]>>;
  }

  async close(): Promise<void> {
    await this.call('close');
    await this.child.exit();
  }

  async kill(): Promise<void> {
    this.child.process.kill('SIGKILL');
    await this.child.exit();
  }
}

/** Opens a session in a process of its own. */
export async function openRemote(options: SessionOptions): Promise<Remote> {
  const child = await startChild('session-remote', options);
  const { id } = await child.message<{ id: string }>();
  return new Remote(id, child);
}
