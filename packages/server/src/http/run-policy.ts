import { ConfigurationError, type Platform, type RunConfig, type RunConfigDefaults } from '@eventloom/core';
import { checkRunConfigDefaults, copyJson, within } from '@eventloom/core/internal';
import type { AuthenticatedUser } from '../server-options.ts';

/** The options of a run that a server decides: all except the streaming mode and the request id, which the client sets. */
export type RunPolicy = Omit<RunConfigDefaults, 'streamingMode'>;

/**
 * Returns options for one run before it starts; undefined for none. A thrown error refuses the run, and so does a promise that has not
 * settled after 10 seconds.
 * @param request the request for the run; its body has been read
 * @param user the user of the request; undefined without `authenticate`
 * @param appName the app that is run
 */
export type RunConfigHook = (
  request: Request,
  user: AuthenticatedUser | undefined,
  appName: string,
) => RunPolicy | undefined | Promise<RunPolicy | undefined>;

/** Maximum time that a request waits for the hook. Meanwhile it counts as a run of its user. */
const HOOK_MS = 10_000;

/**
 * Calls the server's hook for one run.
 * @throws ConfigurationError if the hook returns a value that is not a run config, or has not settled after 10 seconds
 * @throws the error of the hook
 */
export async function callRunConfigHook(
  hook: RunConfigHook,
  request: Request,
  user: AuthenticatedUser | undefined,
  appName: string,
  platform: Platform,
): Promise<RunPolicy | undefined> {
  const asked = (async () => hook(request, user, appName))();
  const decided: (RunPolicy & Pick<RunConfig, 'streamingMode' | 'requestId'>) | undefined = await within(
    platform,
    asked,
    HOOK_MS,
    () => {
      throw new ConfigurationError(
        `the runConfig hook of the server: did not settle within ${HOOK_MS} ms, so the run was not started; give each request that the hook waits for a time limit`,
      );
    },
  );
  if (decided === undefined) return undefined;
  try {
    for (const option of ['streamingMode', 'requestId'] as const)
      if (decided?.[option] !== undefined)
        throw new ConfigurationError(
          `runConfig.${option}: is set by the request of the client; return a config without it`,
        );
    checkRunConfigDefaults(decided);
    const copied = copyJson({ ...decided.customMetadata });
    if ('fault' in copied)
      throw new ConfigurationError(`runConfig.customMetadata.${copied.fault.path}: ${copied.fault.reason}`);
  } catch (cause) {
    // The config may have a getter, whose error is one of the hook's own code.
    if (!ConfigurationError.isInstance(cause)) throw cause;
    throw new ConfigurationError(`the runConfig hook of the server: ${cause.message}`, { cause });
  }
  return decided;
}
