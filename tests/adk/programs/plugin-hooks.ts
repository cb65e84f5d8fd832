import {
  type BaseAgent,
  BasePlugin,
  type BaseTool,
  type Context,
  type Event,
  FunctionTool,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type { Content } from '@google/genai';
import { errorReply, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** Notes which hooks are called, and steps in where a hook may. */
class Watcher extends BasePlugin {
  readonly calls: string[] = [];

  constructor() {
    super('watcher');
  }

  override async onUserMessageCallback({
    userMessage,
  }: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    const text = userMessage.parts?.[0]?.text ?? '';
    this.calls.push(`message ${text}`);
    return text.startsWith('/') ? { role: 'user', parts: [{ text: text.slice(1) }] } : undefined;
  }

  override async beforeRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<Content | undefined> {
    const text = invocationContext.userContent?.parts?.[0]?.text;
    this.calls.push(`run ${text}`);
    return text === 'Stop.' ? { role: 'model', parts: [{ text: 'Nothing is run.' }] } : undefined;
  }

  override async beforeAgentCallback({
    agent,
    callbackContext,
  }: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    this.calls.push(`agent ${agent.name} of ${callbackContext.agentName}`);
    return undefined;
  }

  override async afterAgentCallback({ agent }: { agent: BaseAgent; callbackContext: Context }): Promise<undefined> {
    this.calls.push(`agent ${agent.name} is done`);
  }

  override async beforeModelCallback({
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    this.calls.push(`model with ${llmRequest.contents.length}`);
    return undefined;
  }

  override async onModelErrorCallback({
    error,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
    error: Error;
  }): Promise<LlmResponse | undefined> {
    this.calls.push(`model failed: ${error instanceof Error}`);
    return { content: { role: 'model', parts: [{ text: 'No model answered.' }] } };
  }

  override async onToolErrorCallback({
    tool,
    toolArgs,
    error,
  }: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
    error: Error;
  }): Promise<Record<string, unknown> | undefined> {
    this.calls.push(`tool ${tool.name}(${JSON.stringify(toolArgs)}) failed: ${error.message.includes('no data')}`);
    return { status: 'unknown' };
  }

  override async onEventCallback({
    event,
  }: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    this.calls.push(`event of ${event.author}`);
    const text = event.content?.parts?.[0]?.text;
    return text === 'Fine.' ? { ...event, content: { role: 'model', parts: [{ text: 'Very fine.' }] } } : undefined;
  }

  override async afterRunCallback(_: { invocationContext: InvocationContext }): Promise<void> {
    this.calls.push('end');
  }
}

const measure = new FunctionTool({
  name: 'measure',
  description: 'Measures.',
  parameters: z.object({ what: z.string() }),
  execute: () => {
    throw new Error('no data');
  },
});
const rootAgent = new LlmAgent({
  name: 'meter',
  model: 'gemini-flash-latest',
  description: 'Measures.',
  instruction: 'Measure.',
  tools: [measure],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'measure', args: { what: 'wind' } }] })),
    jsonReply(wireResponse('Fine.')),
    errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'no' }),
  ],
  async main(tell) {
    const watcher = new Watcher();
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'meters', plugins: [watcher] });
    const { id: sessionId } = await runner.sessionService.createSession({ userId: 'ann', appName: 'meters' });
    const send = async (text: string): Promise<void> => {
      const newMessage = { role: 'user', parts: [{ text }] };
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    };
    await send('/Measure the wind.');
    await send('Stop.');
    tell(watcher.calls.splice(0));
    const session = await runner.sessionService.getSession({ appName: 'meters', userId: 'ann', sessionId });
    tell({ stored: session?.events.map(({ author, content }) => `${author}: ${content?.parts?.[0]?.text ?? '-'}`) });
    await send('And now?');
    tell(watcher.calls);
  },
};
export default program;
