import {
  type AnyNodes,
  append as appendTo,
  type Channels,
  channel,
  END,
  type GraphAgent,
  START,
  StateGraph,
} from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import * as z from 'zod';
import { createFloorSession, floorTurn } from '../floor.ts';
import { InstantModel } from '../models.ts';
import { drain, MESSAGE } from '../setup.ts';

/** A graph, the number of its node runs, and the same work as bare calls. */
export interface GraphWorkload {
  readonly name: string;
  readonly graph: GraphAgent;
  readonly nodes: number;
  readonly calls: () => Promise<unknown>;
}

const work = async (input: number): Promise<number> => input + 1;

function chain(): GraphWorkload {
  const nodes = 100;
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'chain' });
  for (let index = 0; index < nodes; index++) {
    graph.addNode(`n${index}`, work);
    graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
  }
  graph.addEdge(`n${nodes - 1}`, END);
  const calls = async (): Promise<unknown> => {
    let value = 0;
    for (let index = 0; index < nodes; index++) value = await work(value);
    return value;
  };
  return { name: 'chain of 100 nodes', graph: graph.compile({ maxSteps: nodes }), nodes, calls };
}

function fanOut(): GraphWorkload {
  const width = 100;
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'fan' }).addJoin('gather');
  for (let index = 0; index < width; index++) {
    graph.addNode(`n${index}`, work);
    graph.addEdge(START, `n${index}`).addEdge(`n${index}`, 'gather');
  }
  graph.addEdge('gather', END);
  const calls = (): Promise<unknown> => Promise.all(Array.from({ length: width }, (_, index) => work(index)));
  return { name: 'fan-out of 100', graph: graph.compile(), nodes: width + 1, calls };
}

function loop(): GraphWorkload {
  const rounds = 1000;
  const graph = new StateGraph({ name: 'loop', channels: { count: channel(z.number(), { default: 0 }) } })
    .addNode(
      'round',
      (_: unknown, context) => {
        context.update({ count: context.state.count + 1 });
        return context.state.count + 1;
      },
      { writes: ['count'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (output) => (output < rounds ? 'again' : 'out'), { again: 'round', out: END })
    .compile({ maxSteps: rounds });
  const calls = async (): Promise<unknown> => {
    let value = 0;
    while (value < rounds) value = await work(value);
    return value;
  };
  return { name: '1,000 rounds of a loop', graph, nodes: rounds, calls };
}

/** Concurrent LLM agents, each with a model that answers at once, and their join. */
function agents(): GraphWorkload {
  const width = 8;
  const model = new InstantModel();
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'agents' }).addJoin('gather');
  for (let index = 0; index < width; index++) {
    const name = `agent${index}`;
    graph.addNode(name, new LlmAgent({ name, model, instruction: 'Be helpful.' }));
    graph.addEdge(START, name).addEdge(name, 'gather');
  }
  graph.addEdge('gather', END);
  const calls = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: width }, (_, index) => drain(floorTurn(createFloorSession(`f${index}`), model, MESSAGE))),
    );
  return { name: 'step of 8 LLM agents', graph: graph.compile(), nodes: width + 1, calls };
}

/** A list that grows by one line in each round. */
const appendTexts = (): GraphWorkload => append('texts', z.string(), () => LINE);

/** A list that grows by one object in each round. */
const appendObjects = (): GraphWorkload =>
  append('objects', z.object({ line: z.string(), round: z.number() }), (round) => ({ line: LINE, round }));

const LINE = 'a line of a log, of forty characters....';

function append<Item>(items: string, schema: z.ZodType<Item>, itemOf: (round: number) => Item): GraphWorkload {
  const rounds = 1000;
  const graph = new StateGraph({
    name: 'append',
    channels: { log: channel(z.array(schema), { default: [], reducer: appendTo }) },
  })
    .addNode(
      'round',
      (_: unknown, context) => {
        const { length } = context.state.log;
        context.update({ log: [itemOf(length)] });
        return length + 1;
      },
      { writes: ['log'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (output) => (output < rounds ? 'again' : 'out'), { again: 'round', out: END })
    .compile({ maxSteps: rounds });
  const calls = async (): Promise<unknown> => {
    const log: Item[] = [];
    while (log.length < rounds) log.push(await Promise.resolve(itemOf(log.length)));
    return log;
  };
  return { name: `1,000 rounds that append to a list of ${items}`, graph, nodes: rounds, calls };
}

/** All workloads that run a graph from start to end. */
export const GRAPH_WORKLOADS: readonly (() => GraphWorkload)[] = [
  chain,
  fanOut,
  agents,
  loop,
  appendTexts,
  appendObjects,
];
