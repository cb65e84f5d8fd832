import type { ObjectStorage } from './cloudflare-bindings.ts';

/** A storage that holds nothing and keeps nothing: for services that exist and are never asked. */
export const noStorage: ObjectStorage = {
  sql: { exec: () => ({ toArray: () => [] }) },
  transactionSync: (work) => work(),
  getAlarm: () => Promise.resolve(null),
  setAlarm: () => Promise.resolve(),
  sync: () => Promise.resolve(),
};
