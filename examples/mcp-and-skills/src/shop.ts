import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

/** An MCP server in this process. */
export interface Shop {
  /** The amounts that were paid back. */
  readonly paid: readonly number[];
  answer(request: Request): Promise<Response>;
}

/** Opens the server of a shop: it knows one order, and asks the customer before it pays money back. */
export function openShop(): Shop {
  const paid: number[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1' });
    server.registerTool(
      'get_order',
      {
        description: 'Returns an order.',
        inputSchema: z.object({ id: z.string() }),
        annotations: { readOnlyHint: true },
      },
      ({ id }) => ({ content: [], structuredContent: { id, item: 'lamp', euros: 80, days: 20 } }),
    );
    server.registerTool(
      'pay_back',
      { description: 'Pays money back.', inputSchema: z.object({ euros: z.number() }) },
      ({ euros }, { mcpReq }) => {
        const answer = acceptedContent<{ account: string }>(mcpReq.inputResponses, 'account');
        if (answer) {
          paid.push(euros);
          return { content: [{ type: 'text', text: `${euros} euros go to ${answer.account}` }] };
        }
        const requestedSchema = {
          type: 'object' as const,
          properties: { account: { type: 'string' as const, title: 'Account' } },
          required: ['account'],
        };
        return inputRequired({
          inputRequests: {
            account: inputRequired.elicit({ message: `To which account do ${euros} euros go?`, requestedSchema }),
          },
        });
      },
    );
    return server;
  });
  return { paid, answer: (request) => handler.fetch(request) };
}
