import { type Event, type EventActions, type InvocationContext, type JsonValue } from '@eventloom/core';
import { isBaseTool } from '@eventloom/core/internal';
import type { ChannelState } from './channel-state.ts';
import { placeOf, toAgentState } from './checkpoint.ts';
import { NodeError, toNodeError } from './errors.ts';
import type { GraphPlan } from './graph-plan.ts';
import type { GraphRecord } from './graph-record.ts';
import { DEFAULT_ROUTE } from './names.ts';
import type { NodeRun } from './node-run.ts';
import type { NodeOutcome } from './node-outcome.ts';

/** Creates the events of completed nodes in their turn, so that reducers and routers see all earlier commits. */
export class NodeCommits {
  readonly #plan: GraphPlan;
  readonly #context: InvocationContext;
  readonly #record: GraphRecord;
  readonly #channels: ChannelState;

  constructor(plan: GraphPlan, context: InvocationContext, record: GraphRecord, channels: ChannelState) {
    this.#plan = plan;
    this.#context = context;
    this.#record = record;
    this.#channels = channels;
  }

  /** Creates the event of a completed node run. @throws NodeError if a reducer or router fails, or a value does not match its channel */
  async completion(run: NodeRun, outcome: NodeOutcome): Promise<Event> {
    const { name } = run.node;
    const { output, updates = [], content, responseId, actions } = outcome;
    const changes = updates.length > 0 ? await this.#channels.changed(name, run.id, updates) : undefined;
    const isTask = placeOf(run.id) !== undefined;
    const next = isTask
      ? await this.route(name, output, outcome.route, changes ? this.#channels.snapshot(changes) : undefined)
      : undefined;
    const agentState = toAgentState({
      node: name,
      run: run.id,
      ...(output === undefined ? {} : { output }),
      ...(run.given === undefined ? {} : { given: run.given }),
      ...(next ? { next } : {}),
      ...(changes && this.#channels.stored(changes)),
    });
    const stateDelta = { ...this.#ownDelta(name, actions), ...changes?.stateDelta };
    return this.#context.createEvent({
      author: name,
      ...(content ? { content } : {}),
      ...(responseId === undefined ? {} : { responseId }),
      actions: { ...actions, stateDelta, agentState },
    });
  }

  /** Returns the session-state changes of a node. @throws NodeError for a key that belongs to a channel */
  #ownDelta(nodeName: string, actions: Partial<EventActions> | undefined): Record<string, unknown> {
    const stateDelta = actions?.stateDelta ?? {};
    for (const [name, { stateKey }] of this.#plan.channels) {
      if (stateKey === undefined || !Object.hasOwn(stateDelta, stateKey)) continue;
      if (!isBaseTool(this.#plan.nodes.get(nodeName)?.work))
        throw new NodeError(
          nodeName,
          `wrote "${stateKey}", which is the channel "${name}"; write context.update({ ${name}: value })`,
        );
    }
    return stateDelta;
  }

  /** Returns the nodes that follow. @throws NodeError if the router fails, and for a missing or unknown route */
  async route(
    name: string,
    output: JsonValue | undefined,
    route: string | undefined,
    state: Readonly<Record<string, unknown>> | undefined,
  ): Promise<string[]> {
    const way = this.#plan.ways.get(name);
    if (!way?.routes) {
      if (route !== undefined)
        throw new NodeError(
          name,
          `sets the route ${JSON.stringify(route)}, but it has no routes; add them with addRoutes`,
        );
      return [...(way?.targets ?? [])];
    }
    if (way.router && route !== undefined)
      throw new NodeError(name, `sets the route ${JSON.stringify(route)} and has a router; remove one of them`);
    const step = this.#record.progress.step;
    const named = way.router
      ? await routed(name, () => way.router?.(output as never, { state: state ?? this.#channels.snapshot(), step }))
      : [route ?? DEFAULT_ROUTE];
    const next = [...way.targets];
    for (const each of named) {
      const targets = way.routes.get(each) ?? way.routes.get(DEFAULT_ROUTE);
      if (!targets) {
        const routes = [...way.routes.keys()].join(', ');
        throw new NodeError(name, `has no route ${JSON.stringify(each)}; its routes are: ${routes}`);
      }
      for (const target of targets) if (!next.includes(target)) next.push(target);
    }
    return next;
  }
}

/** Returns the routes that a router names. @throws NodeError that names the node */
async function routed(nodeName: string, ask: () => unknown): Promise<readonly string[]> {
  let said: unknown;
  try {
    said = await ask();
  } catch (thrown) {
    throw toNodeError(nodeName, thrown);
  }
  const routes: readonly unknown[] = Array.isArray(said) ? said : [said];
  if (routes.length === 0 || !isTexts(routes))
    throw new NodeError(nodeName, 'router: expected the name of a route or a non-empty list of names as the result');
  return routes;
}

function isTexts(values: readonly unknown[]): values is readonly string[] {
  return values.every((value) => typeof value === 'string');
}

/** Creates the event with a node's new questions; undefined if there are none. */
export function questionEvent(
  context: InvocationContext,
  run: NodeRun,
  { questions = [] }: NodeOutcome,
): Event | undefined {
  if (questions.length === 0) return undefined;
  return context.createEvent({
    author: run.node.name,
    content: { role: 'model', parts: [...questions] },
    longRunningToolIds: questions.flatMap(({ functionCall }) => functionCall?.id ?? []),
    actions: { agentState: { asks: run.id } },
  });
}
