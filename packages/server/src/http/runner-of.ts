import type { Runner } from '@eventloom/runner';
import type { ServerContext } from '../server-context.ts';
import { appNotFound } from './check-app-name.ts';

/** @throws AppNotFoundError */
export function runnerOf({ runners }: Pick<ServerContext, 'runners'>, appName: string): Runner {
  const runner = runners.get(appName);
  if (runner) return runner;
  throw appNotFound(appName);
}
