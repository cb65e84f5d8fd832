import { ConfigurationError } from '@eventloom/core';

/**
 * Rejects, because this runtime has no files.
 *
 * @throws ConfigurationError
 */
export function appendToFile(path: string, _text: string): Promise<void> {
  const reason = `DebugLoggingPlugin: cannot write ${path}, because this runtime has no files; write new DebugLoggingPlugin({ write: (document) => … })`;
  return Promise.reject(new ConfigurationError(reason));
}
