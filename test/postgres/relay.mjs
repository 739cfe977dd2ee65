// A network whose faults a test chooses, in front of a server on a Unix socket.
import { once } from 'node:events';
import { createServer, connect as dial } from 'node:net';

export async function startRelay(socket, delayMs = 0) {
  const open = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = dial(socket);
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
    pass(client, upstream, { relay, delayMs });
    pass(upstream, client, { relay, delayMs: 0 });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = {
    port: server.address().port,
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

function pass(from, to, { relay, delayMs }) {
  from.on('data', (bytes) => {
    if (relay.frozen) return;
    if (delayMs === 0) to.write(bytes);
    else setTimeout(() => to.write(bytes), delayMs);
  });
  from.on('close', () => {
    if (!relay.frozen) to.destroy();
  });
}
