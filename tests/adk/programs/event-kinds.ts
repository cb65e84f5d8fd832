import {
  type Context,
  type Event,
  type EventActions,
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  InMemoryRunner,
  isFinalResponse,
  LlmAgent,
  type LlmResponse,
  LongRunningFunctionTool,
  StreamingMode,
  stringifyContent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const parameters = z.object({});
const count = new FunctionTool({
  name: 'count',
  description: 'Counts.',
  parameters,
  execute: (_input, context?: Context) => {
    context?.state.set('counted', 3);
    return { sum: 3 };
  },
});
const raw = new FunctionTool({
  name: 'raw',
  description: 'Gives data for the user.',
  parameters,
  execute: (_input, context?: Context) => {
    if (context) context.actions.skipSummarization = true;
    return { rows: [1, 2] };
  },
});
const slow = new LongRunningFunctionTool({
  name: 'slow',
  description: 'Works for long.',
  parameters,
  execute: () => ({ status: 'pending' }),
});
const expert = new LlmAgent({ name: 'expert', model, description: 'Knows more.', instruction: 'Answer.' });
const agent = new LlmAgent({
  name: 'desk',
  model,
  instruction: 'Help.',
  tools: [count, raw, slow],
  subAgents: [expert],
});

/** Returns how a chat page shows a response of the model; undefined without content. */
function kindOf({ content, partial }: LlmResponse): string | undefined {
  const part = content?.parts?.[0];
  if (!part) return undefined;
  if (part.functionCall) return 'call';
  if (part.functionResponse) return 'response';
  if (part.text) return partial ? 'chunk' : 'text';
  return 'other content';
}

/** Returns what the actions of an event change. */
function changesOf({ stateDelta, artifactDelta }: EventActions): string[] {
  return Object.keys({ ...stateDelta, ...artifactDelta });
}

/** Returns what an event tells the page to do. */
function signalsOf({ actions, longRunningToolIds = [] }: Event): string[] {
  return [
    ...(actions.transferToAgent ? [`transfer to ${actions.transferToAgent}`] : []),
    ...(actions.escalate ? ['escalate'] : []),
    ...(actions.skipSummarization ? ['show the result'] : []),
    ...(longRunningToolIds.length > 0 ? ['in the background'] : []),
  ];
}

const called = (name: string, args: Record<string, unknown> = {}) =>
  sseReply([wireResponse({ calls: [{ name, args }] })]);
const program: Program = {
  replies: [
    called('count'),
    sseReply(wireChunks(['It is ', 'three.'])),
    called('raw'),
    called('slow'),
    sseReply(wireChunks(['It works.'])),
    called('transfer_to_agent', { agentName: 'expert' }),
    sseReply(wireChunks(['I know ', 'more.'])),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'kinds' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'kinds', userId: 'ann' });
    for (const text of ['Count.', 'The data?', 'Start it.', 'An expert, please.']) {
      const runConfig = { streamingMode: StreamingMode.SSE };
      let shown = '';
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId,
        newMessage: createUserContent(text),
        runConfig,
      })) {
        tell(event);
        if (event.partial) shown += stringifyContent(event);
        const final = isFinalResponse(event);
        const changes = changesOf(event.actions);
        const calls = getFunctionCalls(event).map(({ name, args }) => ({ name, args }));
        const results = getFunctionResponses(event).map(({ name, response }) => ({ name, response }));
        tell({ kind: kindOf(event), signals: signalsOf(event), changes, calls, results, final });
        if (!final) continue;
        tell(`show: ${(shown + (event.partial ? '' : stringifyContent(event))).trim()}`);
        shown = '';
      }
    }
  },
};
export default program;
