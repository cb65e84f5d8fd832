type Deferred = typeof import('./deferred.ts').deferred;

let loaded: Deferred | undefined;

/** Loads what not every run needs, once. */
export async function loadDeferred(): Promise<Deferred> {
  return (loaded ??= (await import('./deferred.ts')).deferred);
}
