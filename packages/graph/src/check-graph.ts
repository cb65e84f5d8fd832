import { checkStateKey, ConfigurationError, isBaseAgent, TEMP_PREFIX } from '@eventloom/core';
import { type GraphPlan, reachableFrom, sourcesOf, targetsIn, targetsOf } from './graph-plan.ts';
import { END, START } from './names.ts';

/** @throws ConfigurationError, naming the node or the channel, for the first mistake in a graph */
export function checkGraph(plan: GraphPlan): void {
  const fail = (fault: string): never => {
    throw new ConfigurationError(`graph "${plan.name}": ${fault}`);
  };
  checkEdges(plan, fail);
  checkCycles(plan, fail);
  checkChannels(plan, fail);
}

type Fail = (fault: string) => never;

function checkEdges(plan: GraphPlan, fail: Fail): void {
  const { nodes, ways } = plan;
  for (const [source, way] of ways) {
    if (source !== START && !nodes.has(source)) fail(`an edge leads from "${source}", and there is no such node`);
    for (const target of targetsOf(way)) {
      if (target !== END && !nodes.has(target))
        fail(`an edge leads from "${source}" to "${target}", and there is no such node`);
    }
  }
  if (!ways.has(START)) fail('no edge leads from START');
  const reached = reachableFrom(targetsIn(plan), START);
  const hasEnd = reachableFrom((name) => plan.sources.get(name) ?? [], END);
  for (const [name, { isJoin }] of nodes) {
    if (!reached.has(name)) fail(`node "${name}" cannot be reached from START`);
    if (!ways.has(name)) fail(`node "${name}" has no edge that leads on; add one, to END perhaps`);
    if (!hasEnd.has(name)) fail(`node "${name}" has no way to END`);
    if (isJoin && (plan.sources.get(name)?.length ?? 0) < 2)
      fail(`join "${name}" has fewer than two nodes to wait for`);
  }
}

/** A cycle ends by a route only: one of edges alone goes on for ever. */
function checkCycles({ nodes, ways }: GraphPlan, fail: Fail): void {
  const sources = sourcesOf(new Map([...ways].map(([name, way]) => [name, { ...way, routes: undefined }])));
  const leads = new Map(
    [...nodes.keys()].map((name) => [name, (ways.get(name)?.targets ?? []).filter((target) => target !== END).length]),
  );
  // What leads on to nothing is taken away, until only cycles are left and what leads to them.
  const open = [...leads.keys()].filter((name) => leads.get(name) === 0);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    leads.delete(name);
    for (const source of sources.get(name) ?? []) {
      const left = (leads.get(source) ?? 0) - 1;
      leads.set(source, left);
      if (left === 0) open.push(source);
    }
  }
  const path = new Set<string>();
  let [name] = leads.keys();
  for (; name !== undefined && !path.has(name); name = ways.get(name)?.targets.find((target) => leads.has(target)))
    path.add(name);
  if (name === undefined) return;
  const cycle = [...path].slice([...path].indexOf(name));
  fail(`node "${name}" is on a cycle without a route: ${[...cycle, name].join(' → ')}`);
}

function checkChannels({ channels, nodes }: GraphPlan, fail: Fail): void {
  const writers = new Map<string, string>();
  for (const { name, writes } of nodes.values()) {
    for (const written of new Set(writes)) {
      const channel = channels.get(written);
      if (!channel) {
        fail(`node "${name}" writes "${written}", and there is no such channel`);
        continue;
      }
      const other = writers.get(written);
      if (other !== undefined && !channel.reducer)
        fail(`nodes "${other}" and "${name}" write the channel "${written}", which has no reducer`);
      writers.set(written, name);
    }
  }
  const keys = new Map<string, string>();
  for (const [name, { stateKey, schema, default: given }] of channels) {
    const checked = given === undefined ? undefined : schema.check(given);
    // A schema that takes its time says so when a run begins.
    if (checked && 'issues' in checked)
      fail(`the default of channel "${name}" does not fit: ${checked.issues.join('; ')}`);
    if (stateKey === undefined) continue;
    checkStateKey(stateKey);
    if (stateKey.startsWith(TEMP_PREFIX)) fail(`channel "${name}" has a stateKey that is not stored`);
    const other = keys.get(stateKey);
    if (other !== undefined) fail(`channels "${other}" and "${name}" have one stateKey`);
    keys.set(stateKey, name);
  }
  for (const { name, work } of nodes.values()) {
    if (!isBaseAgent(work) || !('outputKey' in work) || typeof work.outputKey !== 'string') continue;
    const channel = keys.get(work.outputKey);
    if (channel !== undefined)
      fail(
        `the agent of node "${name}" writes its outputKey "${work.outputKey}", which is the channel "${channel}"; write that in a function behind it`,
      );
  }
}
