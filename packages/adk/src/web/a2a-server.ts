import { ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there is no Express. @throws ConfigurationError */
export function loadA2aServer(): never {
  throw new ConfigurationError(
    'toA2a needs Node; on Workers write createCloudflareServer({ protocols: [a2a({ agents })] }), with a2a of @eventloom/a2a',
  );
}

/** Throws: outside Node there are no files. @throws ConfigurationError */
export function readAgentCard(path: string): never {
  throw new ConfigurationError(
    `agentCard: ${path} is a path, and files can be read on Node alone; write the card, or its address`,
  );
}
