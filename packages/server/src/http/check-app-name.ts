import { AppNotFoundError } from '../errors.ts';
import type { FrontContext } from '../server-context.ts';

/** The name, of an app that there is. @throws AppNotFoundError */
export function checkAppName({ runners }: Pick<FrontContext, 'runners'>, appName: string): string {
  if (runners.has(appName)) return appName;
  throw appNotFound(appName);
}

export function appNotFound(appName: string): AppNotFoundError {
  return new AppNotFoundError(`there is no app ${JSON.stringify(appName)}; GET /list-apps names those there are`);
}
