/** Loads what is seldom needed, once. */
export async function loadDeferred(): Promise<typeof import('./deferred.ts').deferred> {
  const { deferred } = await import('./deferred.ts');
  return deferred;
}
