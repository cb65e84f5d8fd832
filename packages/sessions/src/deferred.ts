import { planImport } from './import-plan.ts';

/** What sessions seldom need: not loaded with the services. */
export const deferred = {
  planImport,
} as const;
