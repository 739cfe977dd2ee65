import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

/** A network between a client and a server on a Unix socket: slow, frozen or cut, as a test wants it. */
export interface Relay {
  readonly port: number;
  /** Each way. */
  delayMs: number;
  /** Passes nothing on and ends no connection, as a network does whose cable was pulled. */
  frozen: boolean;
  /** How often a client has sent something after an answer: queries that are sent together are one round trip. */
  trips: number;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function startRelay(socket: string, delayMs = 0): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = dial(socket);
    for (const each of [client, upstream]) {
      open.add(each);
      each.on('error', () => undefined);
      each.on('close', () => open.delete(each));
    }
    let last: 'asked' | 'answered' = 'answered';
    client.on('data', () => {
      if (last === 'answered') relay.trips += 1;
      last = 'asked';
    });
    upstream.on('data', () => {
      last = 'answered';
    });
    pass(client, upstream, relay);
    pass(upstream, client, relay);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay: Relay = {
    // Listening on a port, so the address is one of a port.
    port: (server.address() as AddressInfo).port,
    delayMs,
    frozen: false,
    trips: 0,
    cut: () => {
      for (const each of open) each.destroy();
    },
    close: async () => {
      relay.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return relay;
}

function pass(from: Socket, to: Socket, relay: Relay): void {
  from.on('data', (bytes) => {
    if (relay.frozen) return;
    if (relay.delayMs === 0) to.write(bytes);
    else setTimeout(() => to.write(bytes), relay.delayMs);
  });
  from.on('close', () => {
    if (!relay.frozen) to.destroy();
  });
}
