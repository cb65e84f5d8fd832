import { ConfigurationError, type RunConfig, type RunConfigDefaults, toError } from '@eventloom/core';
import { checkRunConfigDefaults } from '@eventloom/core/internal';
import type { AuthenticatedUser } from '../server-options.ts';

/** The part of a run's config that a server decides. The client decides about streaming, and names the request. */
export type RunPolicy = Omit<RunConfigDefaults, 'streamingMode'>;

/**
 * Decides about the config of one run, before it starts.
 * @param request the request for the run; its body has been read
 * @param user who it comes from; undefined without `authenticate`
 * @param appName the app that is run
 */
export type RunConfigHook = (
  request: Request,
  user: AuthenticatedUser | undefined,
  appName: string,
) => RunPolicy | undefined | Promise<RunPolicy | undefined>;

const NOTHING_DECIDED: RunPolicy = {};

/**
 * Asks the hook of a server about one run.
 * @throws ConfigurationError for what is no run config, and whatever the hook throws: a ForbiddenError refuses the run
 */
export async function decideRunConfig(
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
