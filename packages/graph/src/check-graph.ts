import { ConfigurationError, toError } from '@eventloom/core';
import { checkStateKey, copyJson, TEMP_PREFIX, isBaseAgent } from '@eventloom/core/internal';
import { describeFault } from './json-values.ts';
import { type GraphNode, passOn } from './graph-node.ts';
import { type GraphPlan, reachableFrom, targetsIn, targetsOf } from './graph-plan.ts';
import { DEFAULT_ROUTE, END, quoted, START } from './names.ts';

/** Checks a graph. @throws ConfigurationError for the first mistake; the message names the node or the channel */
export function checkGraph(plan: GraphPlan): void {
  const fail = (fault: string): never => {
    throw new ConfigurationError(`graph "${plan.name}": ${fault}`);
  };
  checkEdges(plan, fail);
  checkCycles(plan, fail);
  checkChannels(plan, fail);
}

type Fail = (fault: string) => never;

/** Says what to write in place of a name that no node has: it may be that of a constant, in quotes. */
function toAdd(name: string): string {
  const constant = name.toUpperCase();
  return constant === 'END' || constant === 'START'
    ? `${constant} without quotes, which you import`
    : `addNode('${name}', …)`;
}

function checkEdges(plan: GraphPlan, fail: Fail): void {
  const { nodes, ways } = plan;
  for (const [source, way] of ways) {
    const node = nodes.get(source);
    if (source !== START && !node) fail(`an edge starts at "${source}", which is not a node; write ${toAdd(source)}`);
    if (node && !canSetRoute(node) && way.routes && !way.router && !way.routes.has(DEFAULT_ROUTE))
      fail(
        `node "${source}" has routes but no function that sets one; add a DEFAULT_ROUTE, or use addConditionalEdges`,
      );
    for (const target of targetsOf(way)) {
      if (target !== END && !nodes.has(target))
        fail(`an edge leads from ${quoted(source)} to "${target}", which is not a node; write ${toAdd(target)}`);
    }
  }
  const [first = 'write'] = nodes.keys();
  if (!ways.has(START)) fail(`no edge starts at START; write addEdge(START, '${first}')`);
  const reached = reachableFrom(targetsIn(plan), START);
  const hasEnd = reachableFrom((name) => plan.sources.get(name) ?? [], END);
  for (const [name, { isJoin }] of nodes) {
    if (!reached.has(name)) fail(`node "${name}" cannot be reached from START; add an edge that leads to it`);
    if (!ways.has(name)) fail(`node "${name}" has no outgoing edge; add one, for example to END`);
    if (!hasEnd.has(name)) fail(`node "${name}" has no path to END; add an edge that leads there`);
    if (isJoin && (plan.sources.get(name)?.length ?? 0) < 2)
      fail(`join "${name}" has fewer than two nodes to wait for; add an edge to it from each of them`);
  }
}

/** Returns true for a node whose work is a function, because only functions set routes. */
function canSetRoute({ work }: GraphNode): boolean {
  return typeof work === 'function' && work !== passOn;
}

/**
 * Checks that every cycle has a route that leaves it. A node can reach END if all targets of its edges can and, if it
 * has routes, all targets of at least one route can.
 */
function checkCycles({ nodes, ways, sources }: GraphPlan, fail: Fail): void {
  const ends = new Set<string>([END]);
  const goesRound = (name: string): boolean => !ends.has(name);
  const endlessOf = (name: string): string | undefined => {
    const { targets = [], routes } = ways.get(name) ?? {};
    const endless = targets.find(goesRound);
    if (endless !== undefined || !routes) return endless;
    const each = [...routes.values()].map((route) => route.find(goesRound));
    return each.includes(undefined) ? undefined : each[0];
  };
  const open = [...nodes.keys()];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (ends.has(name) || endlessOf(name) !== undefined) continue;
    ends.add(name);
    open.push(...(sources.get(name) ?? []).filter((source) => nodes.has(source)));
  }
  const path = new Set<string>();
  let name = [...nodes.keys()].find(goesRound);
  for (; name !== undefined && !path.has(name); name = endlessOf(name)) path.add(name);
  if (name === undefined) return;
  const cycle = [...path].slice([...path].indexOf(name));
  fail(`node "${name}" is on a cycle without a route out of it: ${[...cycle, name].join(' → ')}`);
}

function checkChannels({ channels, nodes }: GraphPlan, fail: Fail): void {
  const writers = new Map<string, string>();
  for (const { name, writes } of nodes.values()) {
    for (const written of new Set(writes)) {
      const channel = channels.get(written);
      if (!channel) {
        fail(
          `node "${name}" writes "${written}", which is not a channel; write channels: { ${written}: channel(schema) } in the options of the StateGraph`,
        );
        continue;
      }
      const other = writers.get(written);
      if (other !== undefined && !channel.reducer)
        fail(
          `nodes "${other}" and "${name}" write the channel "${written}", which has no reducer; write channel(schema, { reducer })`,
        );
      writers.set(written, name);
    }
  }
  const keys = new Map<string, string>();
  for (const [name, { stateKey, schema, default: given }] of channels) {
    const checked = given === undefined ? undefined : schema.check(given);
    // The result of an asynchronous schema is checked when a run begins.
    if (checked && 'issues' in checked)
      fail(`the default of channel "${name}" does not match its schema: ${checked.issues.join('; ')}`);
    const copied = checked && 'value' in checked ? copyJson(checked.value) : undefined;
    if (copied && 'fault' in copied)
      fail(`the default of channel "${name}" ${describeFault(copied.fault)}; channels hold JSON`);
    if (stateKey === undefined) continue;
    const fault = faultOfKey(stateKey);
    if (fault !== undefined) fail(`channel "${name}" has an invalid stateKey: ${fault}`);
    if (stateKey.startsWith(TEMP_PREFIX))
      fail(`channel "${name}": the stateKey "${stateKey}" is not stored; write a key without ${TEMP_PREFIX}`);
    const other = keys.get(stateKey);
    if (other !== undefined) fail(`channels "${other}" and "${name}" have the same stateKey; give one of them another`);
    keys.set(stateKey, name);
  }
  for (const { name, work } of nodes.values()) {
    if (!isBaseAgent(work) || !('outputKey' in work) || typeof work.outputKey !== 'string') continue;
    const channel = keys.get(work.outputKey);
    if (channel !== undefined)
      fail(
        `the agent of node "${name}" writes its outputKey "${work.outputKey}", which is the channel "${channel}"; write the channel in a function node after it`,
      );
  }
}

/** Returns the reason why state cannot be stored under a key; undefined if it can. */
function faultOfKey(stateKey: unknown): string | undefined {
  if (typeof stateKey !== 'string') return 'it is not a string';
  try {
    checkStateKey(stateKey);
    return undefined;
  } catch (thrown) {
    return toError(thrown).message;
  }
}
