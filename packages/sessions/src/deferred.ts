import { planImport } from './import-plan.ts';

/** What sessions seldom need: not loaded with the services. Nothing here imports what is: see deferred.ts of llm-agent. */
export const deferred = {
  planImport,
} as const;
