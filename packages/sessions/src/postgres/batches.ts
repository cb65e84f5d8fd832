/** A batch has at most so many items, and is full when it has so much text. */
const MAX_ITEMS = 1000;
const FULL = 4 * 1024 * 1024;

/** Items, in order, in batches that are each sent at once. An item that is larger than a batch is one by itself. */
export function* inBatches<T>(items: Iterable<T>, sizeOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let size = 0;
  for (const item of items) {
    batch.push(item);
    size += sizeOf(item);
    if (batch.length < MAX_ITEMS && size < FULL) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}
