/** A promise and what has become of it. */
export interface Watched<T> {
  readonly promise: Promise<T>;
  state: 'waiting' | 'fulfilled' | 'rejected';
}

/** A promise whose state can be asked; its rejection is looked at later. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { promise, state: 'waiting' };
  promise.then(
    () => void (watched.state = 'fulfilled'),
    () => void (watched.state = 'rejected'),
  );
  return watched;
}
