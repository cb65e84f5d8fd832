import { ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there are no threads. @throws ConfigurationError */
export function startWorker(_script: string, _data: object, _listener: object): never {
  throw new ConfigurationError(
    'BackgroundTool: needs Node; on Workers write a LongRunningFunctionTool whose result the client sends later',
  );
}

/** Returns undefined: outside Node there are no threads. */
export function readWorkerData(): unknown {
  return undefined;
}
