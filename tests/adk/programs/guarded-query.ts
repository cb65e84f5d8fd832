import { type BaseTool, type Context, FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const policySchema = z.object({ select_only: z.boolean(), tables: z.array(z.string()) });

/** Answers with a text if the policy in the state forbids the query. */
const query = new FunctionTool({
  name: 'query',
  description: 'Queries a database.',
  parameters: z.object({ sql: z.string(), user_id: z.string() }),
  execute: ({ sql }, context?: Context): string | object => {
    const policy = policySchema.parse(context?.state.get('query_tool_policy', {}));
    const tables = [...sql.matchAll(/\b(?:FROM|INTO) (\w+)/g)].map(([, table]) => table ?? '');
    if (!tables.every((table) => policy.tables.includes(table)))
      return `Error: only these tables may be queried: ${policy.tables.join(', ')}`;
    if (policy.select_only && !sql.startsWith('SELECT')) return 'Error: only SELECT is allowed.';
    return { status: 'success', results: [] };
  },
});

function validateUser({
  tool,
  args,
  context,
}: {
  tool: BaseTool;
  args: Record<string, unknown>;
  context: Context;
}): Record<string, unknown> | undefined {
  if (args['user_id'] === context.state.get('session_user_id')) return undefined;
  return { error: `The call of ${tool.name} is blocked: it is another user.` };
}

const rootAgent = new LlmAgent({
  name: 'root_agent',
  model: 'gemini-flash-latest',
  instruction: 'Answer with queries.',
  tools: [query],
  beforeToolCallback: validateUser,
});

const calls = [
  { sql: 'SELECT * FROM a', user_id: 'bob' },
  { sql: 'SELECT * FROM secret', user_id: 'ann' },
  { sql: 'INSERT INTO a', user_id: 'ann' },
  { sql: 'SELECT * FROM b', user_id: 'ann' },
];
const program: Program = {
  replies: [
    ...calls.map((args) => jsonReply(wireResponse({ calls: [{ name: 'query', args }] }))),
    jsonReply(wireResponse('There is nothing.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'queries' });
    const policy = { select_only: true, tables: ['a', 'b'] };
    const { id: sessionId } = await runner.sessionService.createSession({
      appName: 'queries',
      userId: 'ann',
      state: { query_tool_policy: policy, session_user_id: 'ann' },
    });
    const newMessage = createUserContent('What is in the tables?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
      tell(event);
      tell(String(isFinalResponse(event)));
    }
  },
};
export default program;
