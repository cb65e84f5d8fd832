import { ObjectType, reportTo } from '@eventloom/core';
import type { RunScope } from '../run.ts';

/** Stores that a run which could be resumed is over: it failed, or all of it is done and nothing is waited for. */
export async function storeEnd({ context, committer }: RunScope): Promise<void> {
  const { appName: author } = context;
  await committer.appendNew({ author, object: ObjectType.runnerEnd, actions: { endOfAgent: true } });
}

/** The same for a run that failed: what it fails with is not replaced by a failure to store that. False when it is not stored. */
export async function storeFailedEnd(scope: RunScope): Promise<boolean> {
  try {
    await storeEnd(scope);
    return true;
  } catch (error) {
    reportTo(scope.context.platform, error);
    return false;
  }
}
