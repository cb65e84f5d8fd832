import { ConfigurationError, type RunConfig, type RunConfigDefaults, toError } from '@eventloom/core';
import { checkRunConfigDefaults } from '@eventloom/core/internal';
import type { AuthenticatedUser } from '../server-options.ts';

/** The options of a run that a server decides: all except the streaming mode and the request id, which the client sets. */
export type RunPolicy = Omit<RunConfigDefaults, 'streamingMode'>;

/**
 * Returns options for one run before it starts; undefined for none. A thrown error refuses the run.
 * @param request the request for the run; its body has been read
 * @param user the user of the request; undefined without `authenticate`
 * @param appName the app that is run
 */
export type RunConfigHook = (
  request: Request,
  user: AuthenticatedUser | undefined,
  appName: string,
) => RunPolicy | undefined | Promise<RunPolicy | undefined>;

const NOTHING_DECIDED: RunPolicy = {};

/**
 * Calls the server's hook for one run. @throws ConfigurationError if the hook returns a value that is not a run config @throws the error of
 * the hook
 */
export async function callRunConfigHook(
  hook: RunConfigHook,
  request: Request,
  user: AuthenticatedUser | undefined,
  appName: string,
): Promise<RunPolicy> {
  const decided: (RunPolicy & Pick<RunConfig, 'streamingMode'>) | undefined = await hook(request, user, appName);
  if (decided === undefined) return NOTHING_DECIDED;
  try {
    checkRunConfigDefaults(decided);
  } catch (cause) {
    throw new ConfigurationError(`the runConfig hook of the server: ${toError(cause).message}`, { cause });
  }
  if (decided.streamingMode !== undefined)
    throw new ConfigurationError(
      'the runConfig hook of the server: runConfig.streamingMode: is set by the route and by streaming in the body',
    );
  return decided;
}
