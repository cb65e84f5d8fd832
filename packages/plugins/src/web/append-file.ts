import { ConfigurationError } from '@eventloom/core';

/** Rejects: this runtime has no files. @throws ConfigurationError always */
export function appendToFile(path: string, _text: string): Promise<void> {
  const reason = `DebugLoggingPlugin: cannot write ${path}, because this runtime has no files; write new DebugLoggingPlugin({ write: (document) => … })`;
  return Promise.reject(new ConfigurationError(reason));
}
