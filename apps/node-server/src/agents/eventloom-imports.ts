import { registerHooks } from 'node:module';

const OURS = /^(eventloom|@eventloom\/[^/]+)(\/.*)?$/;
/** What an agent may import from here when it has none of its own. */
const LENT = /^zod(\/.*)?$/;

/**
 * Lets any file of this process import `eventloom`, `@eventloom/*` and `zod` without having them installed: an agent's file can lie
 * anywhere. Eventloom's own packages are always these, so that an agent and the server share one copy.
 */
export function lendEventloom(): void {
  const parentURL = import.meta.url;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (OURS.test(specifier)) return nextResolve(specifier, { ...context, parentURL });
      if (!LENT.test(specifier)) return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return nextResolve(specifier, { ...context, parentURL });
      }
    },
  });
}

function isNotFound(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && String(error.code).endsWith('MODULE_NOT_FOUND')
  );
}
