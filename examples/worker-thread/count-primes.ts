import { parentPort, workerData } from 'node:worker_threads';

/** Runs on a separate thread, so that the server keeps answering during the computation. */
const { limit } = workerData as { readonly limit: number };

let count = 0;
for (let number = 2; number <= limit; number++) {
  if (isPrime(number)) count++;
  if (number % Math.ceil(limit / 4) === 0) parentPort?.postMessage({ progress: `${number} of ${limit} looked at` });
}
parentPort?.postMessage({ count });

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}
