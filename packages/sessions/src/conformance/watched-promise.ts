/** A promise and its current state. */
interface Watched<T> {
  readonly promise: Promise<T>;
  state: 'waiting' | 'fulfilled' | 'rejected';
}

/** Returns a promise with its state. A rejection is handled, so that it can be examined later. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { promise, state: 'waiting' };
  promise.then(
    () => void (watched.state = 'fulfilled'),
    () => void (watched.state = 'rejected'),
  );
  return watched;
}
