import {
  type BaseAgent,
  type BaseLlm,
  Gemini,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  RoutedAgent,
  RoutedLlm,
} from '@google/adk';
import { errorReply, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

type ErrorContext = { failedKeys: ReadonlySet<string>; lastError: unknown };

function next(errorContext?: ErrorContext): 'primary' | 'fallback' | undefined {
  if (!errorContext) return 'primary';
  return errorContext.failedKeys.has('fallback') ? undefined : 'fallback';
}

const primary = new LlmAgent({ name: 'primary', model: 'gemini-flash-latest', instruction: 'Be first.' });
const fallback = new LlmAgent({ name: 'fallback', model: 'gemini-pro-latest', instruction: 'Be second.' });
const routedAgent = new RoutedAgent({
  name: 'routed',
  agents: { primary, fallback },
  router: (_agents: Readonly<Record<string, BaseAgent>>, _context: InvocationContext, errorContext?: ErrorContext) =>
    next(errorContext),
});

const routedLlm = new RoutedLlm({
  models: {
    primary: new Gemini({ model: 'gemini-flash-latest' }),
    fallback: new Gemini({ model: 'gemini-pro-latest' }),
  },
  router: (_models: Readonly<Record<string, BaseLlm>>, _request: LlmRequest, errorContext?: ErrorContext) =>
    next(errorContext),
});
const helper = new LlmAgent({ name: 'helper', model: routedLlm, instruction: 'Help.' });

const refused = errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'no' });
const program: Program = {
  replies: [
    refused,
    jsonReply(wireResponse('I am the second model.')),
    refused,
    jsonReply(wireResponse('I am the second agent.')),
  ],
  async main(tell) {
    await converse(tell, helper, ['Which model?']);
    await converse(tell, routedAgent, ['Which agent?']);
  },
};
export default program;
