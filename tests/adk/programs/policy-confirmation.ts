import {
  type BasePolicyEngine,
  FunctionTool,
  getAskUserConfirmationFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  type PolicyCheckResult,
  PolicyOutcome,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  SecurityPlugin,
  type ToolCallPolicyContext,
} from '@google/adk';
import { type Content, createUserContent, type FunctionCall } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Returns the weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ status: 'success', report: `It is sunny in ${city}.` }),
});

const getTime = new FunctionTool({
  name: 'get_time',
  description: 'Returns the time in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ status: 'success', report: `It is noon in ${city}.` }),
});

const agent = new LlmAgent({
  name: 'weather_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Tell the weather.',
  tools: [getWeather, getTime],
});

class AskAlways implements BasePolicyEngine {
  async evaluate(_context: ToolCallPolicyContext): Promise<PolicyCheckResult> {
    return { outcome: PolicyOutcome.CONFIRM, reason: 'every call is confirmed' };
  }
}

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'get_weather', args: { city: 'Oslo' } }] })),
    jsonReply(wireResponse('It is sunny in Oslo.')),
    jsonReply(
      wireResponse({
        calls: [
          { name: 'get_weather', args: { city: 'Rome' } },
          { name: 'get_time', args: { city: 'Rome' } },
        ],
      }),
    ),
    jsonReply(wireResponse('It is noon in sunny Rome.')),
  ],
  async main(tell) {
    const plugins = [new SecurityPlugin({ policyEngine: new AskAlways() })];
    const runner = new InMemoryRunner({ agent, appName: 'weather', plugins });
    const session = await runner.sessionService.createSession({ appName: 'weather', userId: 'ann' });
    const open: FunctionCall[] = [];
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        open.push(...getAskUserConfirmationFunctionCalls(event));
      }
    };
    for (const text of ['How is the weather in Oslo?', 'And in Rome, and the time?']) {
      await send(createUserContent(text));
      for (let call = open.shift(); call; call = open.shift()) {
        const { id } = call;
        const functionResponse = {
          id: id ?? '',
          name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
          response: { confirmed: true },
        };
        await send({ role: 'user', parts: [{ functionResponse }] });
      }
    }
  },
};
export default program;
