import type { Runner } from '@eventloom/runner';
import { AppNotFoundError } from '../errors/app-not-found-error.ts';
import type { ServerContext } from '../server-context.ts';

/** @throws AppNotFoundError */
export function runnerOf({ runners }: Pick<ServerContext, 'runners'>, appName: string): Runner {
  const runner = runners.get(appName);
  if (runner) return runner;
  throw new AppNotFoundError(`there is no app ${JSON.stringify(appName)}; GET /list-apps names those there are`);
}
