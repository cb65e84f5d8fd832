import {
  type AuthConfig,
  type AuthCredential,
  ConfigurationError,
  createEvent,
  type Event,
  REQUEST_CREDENTIAL,
} from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';
import { AuthHandler } from '../auth.ts';
import { asksForKey, SignInCredentials } from '../sign-in-credentials.ts';
import {
  BaseNode,
  type BaseNodeConfig,
  describeNodeOrKind,
  isContent,
  NODE_OPTIONS,
  type NodeEventResult,
} from './base-node.ts';
import type { AdkNodeContext } from './node-context.ts';

/** Result of the function of a node: an output, an event, or nothing. */
export type FunctionNodeResult<TOutput> = TOutput | Event | null | undefined | void;

/** The function of a node. */
export type FunctionNodeHandler<TInput = unknown, TOutput = unknown> = (
  context: AdkNodeContext,
  input: TInput,
) =>
  | FunctionNodeResult<TOutput>
  | Promise<FunctionNodeResult<TOutput>>
  | Generator<FunctionNodeResult<TOutput>, void, unknown>
  | AsyncGenerator<FunctionNodeResult<TOutput>, void, unknown>;

/** Options of a function node. */
export interface FunctionNodeConfig extends Partial<Omit<BaseNodeConfig, 'name'>> {
  authConfig?: AuthConfig | undefined;
}

const FUNCTION_OPTIONS: OptionRules<FunctionNodeConfig & BaseNodeConfig> = { ...NODE_OPTIONS, authConfig: 'object' };

/**
 * A node that calls a function. The value that the function returns, or yields last, is the output. A `Content` is
 * shown and is not the output; an event may have both, and a `route`.
 *
 * @example
 * const shout = new FunctionNode<string, string>('shout', (_context, text) => text.toUpperCase());
 */
export class FunctionNode<TInput = unknown, TOutput = unknown> extends BaseNode<TInput, TOutput> {
  readonly authConfig: AuthConfig | undefined;
  readonly #handler: FunctionNodeHandler<TInput, TOutput>;
  readonly #config: FunctionNodeConfig;

  /** @throws ConfigurationError for a name that is not text, and a value that is not a function */
  constructor(name: string, handler: FunctionNodeHandler<TInput, TOutput>, config: FunctionNodeConfig = {}) {
    if (typeof name !== 'string')
      throw new ConfigurationError(
        `FunctionNode: name: expected a string, got ${describeKind(name)}; write new FunctionNode('work', (context, input) => …)`,
      );
    if (typeof handler !== 'function')
      throw new ConfigurationError(
        `FunctionNode "${name}": expected a function, got ${describeNodeOrKind(handler)}; write new FunctionNode('${name}', (context, input) => …)`,
      );
    if (new.target === FunctionNode) checkOptions(`FunctionNode "${name}"`, FUNCTION_OPTIONS, config);
    // The answer to a request for a credential is no output.
    super({ ...config, name, rerunOnResume: config.rerunOnResume ?? config.authConfig !== undefined });
    this.authConfig = config.authConfig;
    this.#handler = handler;
    this.#config = config;
  }

  /** Creates a node with the same function, and with some options changed. @internal */
  copy({ name = this.name, ...options }: FunctionNodeConfig & Partial<BaseNodeConfig>): FunctionNode<TInput, TOutput> {
    const changes = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    return new FunctionNode(name, this.#handler, { ...this.#config, ...changes });
  }

  protected override async *runImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void> {
    const request = this.authConfig && (await askForCredential(this.authConfig, context));
    if (request) {
      yield request;
      return;
    }
    const result: unknown = this.#handler(context, input);
    if (isIterator(result)) yield* result;
    else yield await result;
  }

  protected override toEvent(context: AdkNodeContext, item: unknown): NodeEventResult {
    return isContent(item) ? createEvent({ content: item }) : super.toEvent(context, item);
  }
}

function isIterator(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value);
}

/** Returns the event that asks the user for a credential; undefined once the state of the invocation has the credential. */
async function askForCredential(authConfig: AuthConfig, context: AdkNodeContext): Promise<Event | undefined> {
  const handler = new AuthHandler(authConfig);
  if (handler.getAuthResponse(context.state)) return undefined;
  const { invocation, appName, userId } = context.invocationContext;
  const { credentialService } = invocation;
  const { credentialKey } = authConfig;
  if (!credentialService)
    throw new ConfigurationError(
      'node with authConfig: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options',
    );
  const given = await credentialService.loadCredential({ appName, userId, credentialKey });
  if (given) {
    const exchangedAuthCredential = withClient(authConfig, given);
    await new AuthHandler({ ...authConfig, exchangedAuthCredential }).parseAndStoreAuthResponse(context.state);
    return undefined;
  }
  const described = credentialService.describe(handler.generateAuthRequest(), { appName, userId });
  if (credentialService instanceof SignInCredentials)
    await credentialService.requestKept({ appName, userId, credentialKey });
  const args = { functionCallId: credentialKey, authConfig: described, message: credentialMessage(authConfig) };
  const functionCall = { name: REQUEST_CREDENTIAL, id: credentialKey, args };
  return createEvent({ content: { role: 'model', parts: [{ functionCall }] }, longRunningToolIds: [credentialKey] });
}

/** Returns the user's credential with the OAuth client of the program, whose secret the user never got. */
function withClient({ rawAuthCredential: raw }: AuthConfig, given: AuthCredential): AuthCredential {
  if (!raw?.oauth2 || !given.oauth2) return given;
  const { clientId, clientSecret, redirectUri } = raw.oauth2;
  const client = {
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret }),
    ...(redirectUri && { redirectUri }),
  };
  return { ...given, oauth2: { ...given.oauth2, ...client } };
}

function credentialMessage(authConfig: AuthConfig): string {
  return `Please provide your ${asksForKey(authConfig) ? 'API key' : 'authentication credentials'}.`;
}
