import { ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there are no files. @throws ConfigurationError */
export function openAgentFiles(_path: string): never {
  throw new ConfigurationError(
    'loadAgentFromConfig: files need Node; on Workers write the agent in TypeScript, new LlmAgent({ name, model, instruction })',
  );
}
