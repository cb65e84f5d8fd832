import { type BaseAgent, ConfigurationError } from '@eventloom/core';
import { checkOptions, isBaseAgent, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { AppNotFoundError, type CommonRequest, type CommonRoute, type Protocol } from '@eventloom/server';
import { A2ACall, VERSION_HEADER } from './a2a-call.ts';
import { type AgentCard, createAgentCard, withLegacyFields } from './agent-card.ts';
import { ownerOf } from './request-owner.ts';

/** Options of `a2a`. */
export interface A2AOptions {
  /** The agents that are offered, by the name of their app. Other apps of the server cannot be reached over A2A. */
  readonly agents: Readonly<Record<string, BaseAgent>>;
  /**
   * The address at which clients reach the server, with the path of a proxy in front of it: `https://agents.example.com`. The cards name
   * it. Default: the origin of the request for the card.
   */
  readonly url?: string | undefined;
  /** Fields of the cards of all agents. They take precedence over the fields that come from the agents. Default: none. */
  readonly card?: Partial<AgentCard> | undefined;
}

const OPTIONS: OptionRules<A2AOptions> = {
  agents: { is: 'object', wanted: 'agents by the name of their app', write: '{ weather: rootAgent }' },
  url: { is: 'text', write: "'https://agents.example.com'" },
  card: { is: 'object', write: "{ version: '2.1.0' }" },
};

const CARD: OptionRules<AgentCard> = {
  name: 'text',
  description: 'text',
  version: 'text',
  supportedInterfaces: 'list',
  capabilities: 'object',
  defaultInputModes: 'list',
  defaultOutputModes: 'list',
  skills: 'list',
  provider: 'object',
  documentationUrl: 'text',
  iconUrl: 'text',
  securitySchemes: 'object',
  securityRequirements: 'list',
};

const PATH = '/a2a/{appName}';

/**
 * Creates the protocol that serves agents to clients of A2A (Agent2Agent) 1.0 and 0.3, as JSON-RPC at `/a2a/{appName}`.
 *
 * A task is a run, with the runs that continue it by answers; the context id is the id of the session. Tasks are read from the session, so
 * they survive restarts, and every process with the same sessions knows them. A message with a `messageId` that the session knows is not
 * run again: its run answers. Without `authenticate` each context has a user of its own, as in the ADK: `A2A_USER_` and the context id.
 *
 * The card of an agent is at `/a2a/{appName}/.well-known/agent-card.json`, and that of the first agent also at
 * `/.well-known/agent-card.json`. Cards are public.
 * @throws ConfigurationError for an unknown option or one of the wrong kind
 *
 * @example
 * import { createServer } from '@eventloom/server';
 *
 * const server = createServer({ runners: [runner], protocols: [a2a({ agents: { weather: agent } })] });
 */
export function a2a(options: A2AOptions): Protocol {
  if (isBaseAgent(options))
    throw new ConfigurationError(
      'a2a: got an agent; write a2a({ agents: { weather: agent } }), with the name of its app',
    );
  checkOptions('a2a', OPTIONS, options);
  const { agents, url, card: fields } = options;
  if (fields) checkOptions('a2a: card', CARD, fields);
  const [first] = Object.keys(agents ?? {});
  if (first === undefined)
    throw wrongOption('a2a', 'agents', 'agents by the name of their app', agents, '{ weather: rootAgent }');
  for (const [appName, agent] of Object.entries(agents))
    if (!isBaseAgent(agent)) throw wrongOption('a2a', `agents.${appName}`, 'an agent', agent, 'rootAgent');
  if (url !== undefined && !URL.canParse(url))
    throw new ConfigurationError(
      `a2a: url: expected an address, got ${JSON.stringify(url.slice(0, 200))}; write url: 'https://agents.example.com'`,
    );
  const agentOf = (appName: string): BaseAgent => {
    const agent = Object.hasOwn(agents, appName) ? agents[appName] : undefined;
    if (agent) return agent;
    throw new AppNotFoundError(`no agent is offered over A2A at this address; the option agents of a2a names the apps`);
  };
  const cardAt = (request: CommonRequest, appName: string): Response => {
    const base = (url ?? new URL(request.raw.url).origin).replace(/\/$/, '');
    const card = createAgentCard(agentOf(appName), `${base}/a2a/${encodeURIComponent(appName)}`, fields);
    // Clients of 1.0 name their version. A client that names none may know 0.3 only.
    const isNew = request.raw.headers.get(VERSION_HEADER)?.startsWith('1') === true;
    return Response.json(isNew ? card : withLegacyFields(card), {
      headers: { 'cache-control': 'no-cache', vary: VERSION_HEADER },
    });
  };
  const cardRoute = { method: 'get', response: { schema: { type: 'object' } }, isPublic: true } as const;
  const commonRoutes: CommonRoute[] = [
    {
      ...cardRoute,
      path: '/.well-known/agent-card.json',
      operationId: 'a2aAgentCard',
      summary: 'The A2A card of the first agent',
      handle: (request) => cardAt(request, first),
    },
    {
      ...cardRoute,
      path: `${PATH}/.well-known/agent-card.json`,
      operationId: 'a2aAppAgentCard',
      summary: 'The A2A card of an agent',
      errors: [404],
      handle: (request) => cardAt(request, request.param('appName')),
    },
  ];
  const call: Protocol['routes'][number] = {
    method: 'post',
    path: PATH,
    operationId: 'a2aCall',
    summary: 'A request of A2A as JSON-RPC. Methods that stream answer with server-sent events',
    headers: { [VERSION_HEADER]: 'The version that the client speaks. Default: that of the method name.' },
    bodySchema: {
      type: 'object',
      properties: { jsonrpc: { const: '2.0' }, id: {}, method: { type: 'string' }, params: { type: 'object' } },
      required: ['jsonrpc', 'method'],
    },
    response: { schema: { type: 'object' } },
    errors: [404],
    owner: ownerOf,
    async handle(request) {
      agentOf(request.param('appName'));
      return new A2ACall(request, await ownerOf(request)).respond();
    },
  };
  return { name: 'a2a', routes: [call], commonRoutes };
}
