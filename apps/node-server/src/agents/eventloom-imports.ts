import { createRequire, registerHooks } from 'node:module';

const requireHere = createRequire(import.meta.url);

const OURS = /^(eventloom|@eventloom\/[^/]+)(\/.*)?$/;
/** What an agent may import from here when it has none of its own. */
const LENT = /^zod(\/.*)?$/;

/**
 * Lets any file of this process import `eventloom`, `@eventloom/*` and `zod` without having them installed: an agent's file can lie
 * anywhere. Eventloom's own packages are always these, so that an agent and the server share one copy.
 */
export function lendEventloom(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (context.parentURL === import.meta.url) return nextResolve(specifier, context);
      if (OURS.test(specifier)) return nextResolve(...found(specifier, context));
      if (!LENT.test(specifier)) return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return nextResolve(...found(specifier, context));
      }
    },
  });
}

/** What to resolve instead, so that it is found from here: `require` looks at the file that asks, whatever it is told. */
function found<C extends { readonly conditions?: readonly string[] }>(specifier: string, context: C): [string, C] {
  if (context.conditions?.includes('require')) return [requireHere.resolve(specifier), context];
  return [specifier, { ...context, parentURL: import.meta.url }];
}

function isNotFound(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && String(error.code).endsWith('MODULE_NOT_FOUND')
  );
}
