import { type BaseTool, type Context, FunctionTool, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const access = new FunctionTool({
  name: 'access_cart',
  description: 'Reads the cart.',
  parameters: z.object({ customer_id: z.string(), shop: z.string() }),
  execute: ({ customer_id, shop }) => ({ status: 'ok', cart: `${customer_id} at ${shop}` }),
});
const approve = new FunctionTool({
  name: 'approve',
  description: 'Approves a discount.',
  parameters: z.object({ value: z.number() }),
  execute: () => ({ status: 'rejected' }),
});
const silent = new FunctionTool({
  name: 'log',
  description: 'Writes a line.',
  parameters: z.object({ line: z.string() }),
  execute: () => {},
});

function beforeAgent(context: Context): undefined {
  if (!context.state.has('customer')) context.state.set('customer', JSON.stringify({ id: '123' }));
}

function beforeTool({
  tool,
  args,
  context,
}: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}): Record<string, unknown> | undefined {
  const lower = Object.entries(args).map(
    ([key, value]) => [key, typeof value === 'string' ? value.toLowerCase() : value] as const,
  );
  for (const key of Object.keys(args)) delete args[key];
  Object.assign(args, Object.fromEntries(lower));
  const { id } = JSON.parse(context.state.get<string>('customer') ?? '{}') as { id?: string };
  if ('customer_id' in args && args['customer_id'] !== id) return { error: 'This is another customer.' };
  if (tool.name === 'approve' && Number(args['value']) <= 10)
    return { status: 'approved', message: 'No manager needed.' };
  return undefined;
}

function countRequests({ context, request }: { context: Context; request: LlmRequest }): LlmResponse | undefined {
  const last = request.contents.at(-1)?.parts?.at(-1)?.text;
  context.state.set('requests', (context.state.get<number>('requests') ?? 0) + 1);
  return last === 'Hi' ? { content: { role: 'model', parts: [{ text: 'Hello from the callback.' }] } } : undefined;
}

const agent = new LlmAgent({
  name: 'shop_assistant',
  model: 'gemini-flash-latest',
  instruction: 'Help the customer.',
  tools: [access, approve, silent],
  beforeAgentCallback: beforeAgent,
  beforeToolCallback: beforeTool,
  afterToolCallback: ({ response }) =>
    response?.['status'] === 'approved' ? { ...response, applied: true } : undefined,
  beforeModelCallback: countRequests,
  afterModelCallback: ({ response }) => {
    if (response.usageMetadata) {
      response.content ??= { role: 'model', parts: [] };
      response.content.parts?.push({ text: ` (${response.usageMetadata.promptTokenCount} tokens)` });
    }
    return response;
  },
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'access_cart', args: { customer_id: '123', shop: 'NORTH' } }] })),
    jsonReply(
      wireResponse({
        calls: [
          { name: 'access_cart', args: { customer_id: '9', shop: 'South' } },
          { name: 'approve', args: { value: 5 } },
        ],
      }),
    ),
    jsonReply(
      wireResponse({
        calls: [
          { name: 'approve', args: { value: 50 } },
          { name: 'log', args: { line: 'x' } },
        ],
      }),
    ),
    jsonReply(wireResponse('That is all.')),
  ],
  main: (tell) => converse(tell, agent, ['Hi', 'My cart, and a discount.']),
};
export default program;
