// Live runs: both sides speak when they like, over connections that are made anew when they end.

export { LiveRequestQueue } from './live-request-queue.ts';
