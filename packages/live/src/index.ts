// Live runs: both sides may speak at any time, over connections that are re-established when they end.

export { live } from './live.ts';
export type { LiveRequestQueueOptions } from './live-request-queue.ts';
export { LiveRequestQueue } from './live-request-queue.ts';
export type { ErrorAdvice } from './error-advice.ts';
export { errorAdvice } from './error-advice.ts';
