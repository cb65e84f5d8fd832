import type { BaseAgent } from '@eventloom/core';
import { hasBeginOfRun, readNewest } from '@eventloom/core/internal';
import { RunNotFoundError } from '../errors.ts';
import type { ServerRequest } from '../http/server-request.ts';
import { jsonResponse } from '../http/responses.ts';
import type { HttpRoute } from '../http/route.ts';

const TEXT = { type: 'string' };
const DESCRIPTION = {
  type: 'object',
  properties: {
    graph: {
      type: 'object',
      properties: {
        name: TEXT,
        nodes: {
          type: 'array',
          items: { type: 'object', properties: { name: TEXT, kind: TEXT }, required: ['name', 'kind'] },
        },
        edges: {
          type: 'array',
          items: { type: 'object', properties: { from: TEXT, to: TEXT, route: TEXT }, required: ['from', 'to'] },
        },
      },
      required: ['name', 'nodes', 'edges'],
    },
    runs: {
      type: 'array',
      description:
        'The runs of the graph during this run, in the order in which they began: status, open questions, the initial and the current state, and the steps. Each step has the channels that it `changed`, with their new values, and the items that it `added` to lists.',
      items: { type: 'object' },
    },
    mermaid: { type: 'string', description: 'A flow chart with the path of the latest run highlighted.' },
  },
  required: ['graph', 'runs', 'mermaid'],
};

async function describeGraphs(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const invocationId = request.param('invocationId');
  const { agent, sessionService } = request.runner();
  const events = await readNewest(sessionService, key, (read) => hasBeginOfRun(read, invocationId));
  if (!events.some((event) => event.invocationId === invocationId))
    throw new RunNotFoundError(`there is no run ${JSON.stringify(invocationId)} in this session`);
  const described = [...agentsOf(agent)].flatMap((each) => each.describeRun({ events, invocationId }) ?? []);
  return jsonResponse(described.filter(({ runs }) => runs.length > 0));
}

/** Returns the graphs of an app, without a run. The path has a user, because on Workers only a user's Durable Object has agents. */
function listGraphs(request: ServerRequest): Response {
  request.userId();
  const { agent } = request.runner();
  const nothing = { events: [], invocationId: '' };
  return jsonResponse([...agentsOf(agent)].flatMap((each) => each.describeRun(nothing) ?? []));
}

/** Returns an agent and all agents that it runs as sub-agents, nodes and tools, each once. */
function agentsOf(agent: BaseAgent, found = new Set<BaseAgent>()): ReadonlySet<BaseAgent> {
  if (found.has(agent)) return found;
  found.add(agent);
  for (const below of [...agent.subAgents, ...agent.calledAgents]) agentsOf(below, found);
  return found;
}

/** Routes about agents that are graphs. */
export const graphRoutes: readonly HttpRoute[] = [
  {
    method: 'get',
    path: '/apps/{appName}/users/{userId}/graphs',
    operationId: 'listGraphs',
    summary: 'The graphs of an app, nested ones too, without runs; empty if there are none',
    response: { schema: { type: 'array', items: DESCRIPTION } },
    handle: listGraphs,
  },
  {
    method: 'get',
    path: '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs/{invocationId}/graph',
    operationId: 'describeGraphs',
    summary:
      'The graphs that ran in a run, with their steps, state and open questions, in flight or ended; empty if there are none',
    response: { schema: { type: 'array', items: DESCRIPTION } },
    handle: describeGraphs,
  },
];
