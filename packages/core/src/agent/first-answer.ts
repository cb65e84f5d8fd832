type Callback<P, R> = (params: P) => R | undefined | void | Promise<R | undefined | void>;

/** Calls callbacks in order and returns the first result that is not undefined. */
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
