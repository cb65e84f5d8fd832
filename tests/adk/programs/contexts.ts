import {
  type Context,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  type ReadonlyContext,
} from '@google/adk';
import { createUserContent, type Part } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

function instruct(context: ReadonlyContext): string {
  const tier = (context.state.get('tier') as string | undefined) ?? 'standard';
  return `You are ${context.agentName}, and answer a ${tier} customer.`;
}

function countCalls({ context }: { context: Context; request: LlmRequest }): LlmResponse | undefined {
  const calls = (context.state.get('model_calls') as number | undefined) ?? 0;
  context.state.set('model_calls', calls + 1);
  return undefined;
}

function noteStart(context: Context): undefined {
  context.state.set('asked', context.userContent?.parts?.[0]?.text ?? 'no text');
  context.state.set('sameRun', context.invocationId !== '');
}

const parameters = z.object({});

const fetchProfile = new FunctionTool({
  name: 'fetch_profile',
  description: 'Finds the customer.',
  parameters,
  execute: (_input, context) => {
    context?.state.set('temp:customer', 'c7');
    return { status: 'found', endpoint: context?.state.get('app:endpoint'), call: context?.functionCallId };
  },
});
const fetchOrders = new FunctionTool({
  name: 'fetch_orders',
  description: 'Lists the orders of the customer.',
  parameters,
  execute: (_input, context) => {
    const customer = context?.state.get('temp:customer');
    if (!customer) return { error: 'no customer in the state' };
    const display = context?.state.get('display', 'plain');
    return { customer, display, orders: ['o1', 'o2'], agent: context?.agentName };
  },
});
const setPreference = new FunctionTool({
  name: 'set_preference',
  description: 'Sets a preference.',
  parameters: z.object({ name: z.string(), value: z.string() }),
  execute: ({ name, value }, context) => {
    context?.state.set(`user:${name}`, value);
    return { status: 'set' };
  },
});
const noteDocument = new FunctionTool({
  name: 'note_document',
  description: 'Notes where a document is.',
  parameters: z.object({ path: z.string() }),
  execute: async ({ path }, context) => {
    const reference: Part = { text: path };
    const version = await context?.saveArtifact('document.txt', reference);
    context?.state.set('temp:document', 'document.txt');
    return { version };
  },
});
const summarize = new FunctionTool({
  name: 'summarize',
  description: 'Summarizes the noted document.',
  parameters,
  execute: async (_input, context) => {
    const name = context?.state.get('temp:document') as string | undefined;
    if (name === undefined) return { error: 'no document in the state' };
    const reference = await context?.loadArtifact(name);
    return { summary: `Summary of ${reference?.text}`, documents: await context?.listArtifacts() };
  },
});
const findRelated = new FunctionTool({
  name: 'find_related',
  description: 'Searches the memory.',
  parameters: z.object({ topic: z.string() }),
  execute: async ({ topic }, context) => {
    try {
      const found = await context?.searchMemory(`About ${topic}`);
      return found?.memories.length ? { first: found.memories[0]?.content } : { message: 'Nothing was found.' };
    } catch {
      return { error: 'The memory cannot be searched.' };
    }
  },
});
const agent = new LlmAgent({
  name: 'helper',
  model: 'gemini-flash-latest',
  instruction: instruct,
  tools: [fetchProfile, fetchOrders, setPreference, noteDocument, summarize, findRelated],
  beforeAgentCallback: noteStart,
  beforeModelCallback: countCalls,
});

const called = (name: string, args: Record<string, unknown> = {}) =>
  jsonReply(wireResponse({ calls: [{ name, args }] }));
const program: Program = {
  replies: [
    called('fetch_profile'),
    called('fetch_orders'),
    called('set_preference', { name: 'theme', value: 'dark' }),
    called('note_document', { path: '/docs/report.txt' }),
    called('summarize'),
    called('find_related', { topic: 'boats' }),
    jsonReply(wireResponse('Two orders.')),
    called('fetch_orders'),
    called('summarize'),
    jsonReply(wireResponse('I do not know.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'shop' });
    const state = { tier: 'gold', 'app:endpoint': 'https://api.test' };
    for (const [sessionId, text] of [
      ['one', 'My orders?'],
      ['two', 'And now?'],
    ] as const) {
      await runner.sessionService.createSession({ appName: 'shop', userId: 'ann', sessionId, state });
      const newMessage = createUserContent(text);
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      const session = await runner.sessionService.getSession({ appName: 'shop', userId: 'ann', sessionId });
      tell({ state: { ...session?.state } });
    }
  },
};
export default program;
