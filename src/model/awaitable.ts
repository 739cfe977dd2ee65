/** A value that is there, or will be. For what is asked so often that a turn of the event loop costs more than the answer. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value: at once if it is there. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
