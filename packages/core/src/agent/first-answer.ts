type Callback<P, R> = (params: P) => R | undefined | void | Promise<R | undefined | void>;

/** Asks callbacks one after the other. The first that answers something is the last that is asked; undefined when none does. */
export async function firstAnswer<P, R extends object>(
  callbacks: readonly Callback<P, R>[],
  params: P,
): Promise<R | undefined> {
  for (const callback of callbacks) {
    const answer = await callback(params);
    if (answer) return answer;
  }
  return undefined;
}
