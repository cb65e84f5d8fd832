import { checkStateKey, ConfigurationError, TEMP_PREFIX } from '@eventloom/core';
import { type GraphPlan, reachableFrom, targetsOf } from './graph-plan.ts';
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
  const reached = reachableFrom(plan, START);
  for (const [name, { isJoin }] of nodes) {
    if (!reached.has(name)) fail(`node "${name}" cannot be reached from START`);
    if (!ways.has(name)) fail(`node "${name}" has no edge that leads on; add one, to END perhaps`);
    if (!reachableFrom(plan, name).has(END)) fail(`node "${name}" has no way to END`);
    if (isJoin && (plan.sources.get(name)?.length ?? 0) < 2)
      fail(`join "${name}" has fewer than two nodes to wait for`);
  }
}

/** A cycle ends by a route only: one of edges alone goes on for ever. */
function checkCycles({ nodes, ways }: GraphPlan, fail: Fail): void {
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    const begin = path.indexOf(name);
    if (begin >= 0) {
      fail(`node "${name}" is on a cycle without a route: ${[...path.slice(begin), name].join(' → ')}`);
    }
    if (done.has(name)) return;
    for (const target of ways.get(name)?.targets ?? []) visit(target, [...path, name]);
    done.add(name);
  };
  for (const name of nodes.keys()) visit(name, []);
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
  for (const [name, { stateKey }] of channels) {
    if (stateKey === undefined) continue;
    checkStateKey(stateKey);
    if (stateKey.startsWith(TEMP_PREFIX)) fail(`channel "${name}" has a stateKey that is not stored`);
    const other = keys.get(stateKey);
    if (other !== undefined) fail(`channels "${other}" and "${name}" have one stateKey`);
    keys.set(stateKey, name);
  }
}
