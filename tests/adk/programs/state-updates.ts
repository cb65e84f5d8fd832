import {
  type Context,
  createEvent,
  createEventActions,
  FunctionTool,
  InMemorySessionService,
  isFinalResponse,
  LlmAgent,
  type ReadonlyContext,
  Runner,
} from '@google/adk';
import type { Content } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

function count(context: Context): { count: number } {
  const calls = context.state.get<number>('call_count', 0) ?? 0;
  context.state.set('call_count', calls + 1);
  context.state.set('temp:last_status', 'success');
  return { count: calls + 1 };
}

const counter = new FunctionTool({
  name: 'count',
  description: 'Counts.',
  execute: (_input, toolContext) => toolContext && count(toolContext),
});

/** Braces of a function's text stay as they are. */
function describeFormat(context: ReadonlyContext): string {
  return `Answer ${String(context.state.get('user:name'))} with JSON: {"city": "<name>", "count": {call_count}}`;
}

const greeter = new LlmAgent({
  name: 'Greeter',
  model: 'gemini-flash-latest',
  instruction: describeFormat,
  outputKey: 'last_greeting',
  tools: [counter],
  beforeAgentCallback: (context: Context) => {
    count(context);
    return undefined;
  },
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'count', args: {} }] })),
    ({ body }) => jsonReply(wireResponse(`Read: ${JSON.stringify(body).match(/Answer .*?}}/)?.[0]}`)),
  ],
  async main(tell) {
    const appName = 'state_app';
    const userId = 'ann';
    const sessionId = 'session1';
    const sessionService = new InMemorySessionService();
    const runner = new Runner({ agent: greeter, appName, sessionService });
    const session = await sessionService.createSession({
      appName,
      userId,
      sessionId,
      state: { 'user:login_count': 0, task_status: 'idle' },
    });
    tell({ created: { ...session.state } });

    const stateDelta = {
      task_status: 'active',
      'user:login_count': Number(session.state['user:login_count'] ?? 0) + 1,
      'user:name': 'Ann',
      'temp:validation_needed': true,
    };
    const event = createEvent({
      invocationId: 'inv_login',
      author: 'system',
      actions: createEventActions({ stateDelta }),
      timestamp: Date.now(),
    });
    const appended = await sessionService.appendEvent({ session, event });
    tell(appended);
    tell({ inHand: { ...session.state }, events: session.events.length });
    tell({ stored: { ...(await sessionService.getSession({ appName, userId, sessionId }))?.state } });

    const newMessage: Content = { parts: [{ text: 'Hello' }] };
    for await (const said of runner.runAsync({ userId, sessionId, newMessage })) {
      tell(said);
      if (isFinalResponse(said)) tell('The agent answered.');
    }
    tell({ stored: { ...(await sessionService.getSession({ appName, userId, sessionId }))?.state } });
  },
};
export default program;
