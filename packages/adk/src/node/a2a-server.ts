import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ConfigurationError } from '@eventloom/core';

/** The parts of `express` and of `@a2a-js/sdk` that `toA2a` uses. */
interface A2aServerLibraries {
  readonly express: {
    (): { use(...handlers: unknown[]): unknown };
    json(options: { readonly limit: string }): unknown;
  };
  readonly server: {
    readonly DefaultRequestHandler: new (card: unknown, store: object, executor: object) => object;
    readonly InMemoryTaskStore: new () => object;
  };
  readonly serverExpress: {
    agentCardHandler(options: { readonly agentCardProvider: object }): unknown;
    restHandler(options: { readonly requestHandler: object; readonly userBuilder: unknown }): unknown;
    jsonRpcHandler(options: { readonly requestHandler: object; readonly userBuilder: unknown }): unknown;
  };
}

/**
 * Loads `express` and `@a2a-js/sdk`, which the program has installed beside this package.
 * @throws ConfigurationError for one that is missing
 */
export function loadA2aServer(): A2aServerLibraries {
  const require = createRequire(import.meta.url);
  try {
    return {
      express: require('express') as A2aServerLibraries['express'],
      server: require('@a2a-js/sdk/server') as A2aServerLibraries['server'],
      serverExpress: require('@a2a-js/sdk/server/express') as A2aServerLibraries['serverExpress'],
    };
  } catch (cause) {
    throw new ConfigurationError('toA2a: its packages cannot be loaded; write npm install express @a2a-js/sdk@0.3', {
      cause,
    });
  }
}

/** Reads a card from a file. @throws ConfigurationError for a file that cannot be read, and for text that is not JSON */
export function readAgentCard(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigurationError(
      `agentCard: cannot read a card from ${path}; write the path of a file of JSON, or an address with http or https`,
      { cause },
    );
  }
}
