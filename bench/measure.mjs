// The method of all benchmarks: the compared tasks alternate in one run, and each row is the ratio
// of their medians. Absolute times depend on the machine, so quote only the ratios.

/**
 * Median time (or another quantile) of each task in microseconds. The tasks run in a different order each round, so
 * that other load, and work that a task leaves behind, affects all of them alike. `before` runs before every task and
 * is not counted.
 */
export async function interleaved(tasks, { quantile = 0.5, ...options }) {
  return (await roundsOf(tasks, options)).map((each) => quantileOf(each, quantile));
}

/** Like `interleaved`, but returns all times of each task, by round. */
export async function roundsOf(tasks, { rounds, before, warmup = Math.min(rounds, 50) }) {
  const times = tasks.map(() => []);
  for (let round = -warmup; round < rounds; round += 1) {
    for (const index of shuffled(tasks.length)) {
      await before?.(index);
      const start = process.hrtime.bigint();
      const done = tasks[index]();
      if (done instanceof Promise) await done;
      const elapsed = Number(process.hrtime.bigint() - start) / 1000;
      if (round >= 0) times[index].push(elapsed);
    }
  }
  return times;
}

function shuffled(count) {
  const order = Array.from({ length: count }, (_, index) => index);
  for (let left = count - 1; left > 0; left -= 1) {
    const other = Math.floor(Math.random() * (left + 1));
    [order[left], order[other]] = [order[other], order[left]];
  }
  return order;
}

function quantileOf(values, quantile) {
  if (quantile === 0.5) return median(values);
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * quantile)];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
