// How everything here is measured: side by side in one run, in turns, as medians; only ratios are worth quoting.

/**
 * Median time of each task in microseconds. The tasks take turns, and each round starts with another one, so that
 * what the machine does besides falls on all of them. `before` runs ahead of every task and is not counted.
 */
export async function interleaved(tasks, { rounds, before, warmup = Math.min(rounds, 50) }) {
  const times = tasks.map(() => []);
  for (let round = -warmup; round < rounds; round += 1) {
    for (let turn = 0; turn < tasks.length; turn += 1) {
      const index = (turn + Math.abs(round)) % tasks.length;
      await before?.(index);
      const start = process.hrtime.bigint();
      const done = tasks[index]();
      if (done instanceof Promise) await done;
      const elapsed = Number(process.hrtime.bigint() - start) / 1000;
      if (round >= 0) times[index].push(elapsed);
    }
  }
  return times.map(median);
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
