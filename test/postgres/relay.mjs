// Passes connections on to a server on a Unix socket, with network faults that a test chooses.
import { once } from 'node:events';
import { createServer, connect as dial } from 'node:net';

export async function startRelay(socket, delayMs = 0, kind = 'network') {
  const [open, clients] = [new Set(), new Set()];
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const upstream = dial(socket);
    clients.add(client);
    // A frozen network does not even report that the other side has ended the connection.
    client.on('end', () => relay.frozen || client.end());
    client.on('close', () => clients.delete(client));
    for (const each of [client, upstream]) {
      open.add(each);
      each.on('error', () => undefined);
      each.on('close', () => open.delete(each));
    }
    let last = 'answered';
    client.on('data', () => {
      if (last === 'answered') relay.trips += 1;
      last = 'asked';
    });
    upstream.on('data', () => {
      last = 'answered';
    });
    if (kind === 'pooler') upstream.once('data', hideProcess);
    pass(client, upstream, { relay, delayMs });
    pass(upstream, client, { relay, delayMs: 0, isAnswer: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = {
    port: server.address().port,
    frozen: false,
    deaf: false,
    trips: 0,
    cut: () => {
      for (const each of open) each.destroy();
    },
    crash: () => {
      for (const each of clients) each.end(CRASHED);
    },
    close: async () => {
      relay.cut();
      server.close();
      await once(server, 'close');
    },
  };
  return relay;
}

/** The message (ErrorResponse) with which PgBouncer ends a connection after its server has crashed. */
const CRASHED = errorResponse('SFATAL', 'VFATAL', 'C08P01', 'Mserver conn crashed?');

function errorResponse(...fields) {
  const body = Buffer.from(`${fields.map((field) => `${field}\0`).join('')}\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/**
 * Changes the process id in the message BackendKeyData. A connection pooler does the same, because
 * it gives each client an id of its own.
 */
function hideProcess(bytes) {
  const at = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
  if (at < 0) throw new Error('the first answer has no process id');
  bytes[at + 8] ^= 1;
}

function pass(from, to, { relay, delayMs, isAnswer = false }) {
  from.on('data', (bytes) => {
    if (relay.frozen || (isAnswer && relay.deaf)) return;
    if (delayMs === 0) to.write(bytes);
    else setTimeout(() => to.write(bytes), delayMs);
  });
  from.on('close', () => {
    if (!relay.frozen) to.destroy();
  });
}
