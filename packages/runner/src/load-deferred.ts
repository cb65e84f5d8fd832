/** Loads what is seldom needed, once. */
export function loadDeferred(): Promise<typeof import('./deferred.ts')> {
  return import('./deferred.ts');
}
