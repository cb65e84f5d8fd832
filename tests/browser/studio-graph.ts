import { createEvent, node, type NodeContext, Workflow } from '@eventloom/adk';
import { END, type GraphAgent, START, StateGraph } from '@eventloom/graph';
import { Gate } from '@eventloom/testing';

/** Creates a graph whose first node chooses one of two others, which wait for the gate. */
export function graph(): { readonly agent: GraphAgent; readonly gate: Gate } {
  const gate = new Gate();
  const wait = async (text: unknown): Promise<string> => {
    await gate.pass();
    return `went ${String(text)}`;
  };
  const agent = new StateGraph({ name: 'ways' })
    .addNode('choose', (text: string) => text)
    .addNode('left', wait)
    .addNode('right', wait)
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', (text) => (text === 'left' ? 'left' : 'right'), { left: 'left', right: 'right' })
    .addEdge('left', END)
    .addEdge('right', END)
    .compile();
  return { agent, gate };
}

/**
 * Creates a workflow like the graph: its first node chooses one of two others, which wait for the gate.
 * @param isSilent true lets the first node choose without an event
 */
export function workflow(isSilent = false): { readonly agent: Workflow; readonly gate: Gate } {
  const gate = new Gate();
  const wait = (name: string) => node(() => gate.pass().then(() => `went ${name}`), { name });
  const chooseBy = (context: NodeContext, text: string) => {
    if (!isSilent) return createEvent({ route: text });
    context.route = text;
    return undefined;
  };
  const choose = node(chooseBy, { name: 'choose' });
  const edges = [
    ['START', choose],
    [choose, { left: wait('left'), right: wait('right') }],
  ] as const;
  return { agent: new Workflow({ name: 'flow', edges }), gate };
}
