import { setImmediate as untilNextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the bytes of the heap that are in use after a collection. */
export async function collectedHeap(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    await untilNextTurn();
    collect();
  }
  return process.memoryUsage().heapUsed;
}
