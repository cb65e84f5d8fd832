import type { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { calling, play, responsesOf, toolsetOf } from './fixtures/play.ts';
import { serveModern, serveSessions } from './fixtures/served.ts';

function echoing(server: McpServer): void {
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({
      content: [{ type: 'text', text }],
    }),
  );
}

const echo = (id: string) => ({ id, name: 'echo', args: { text: id } });

test.each([
  ['of before 2026-07-28', serveSessions],
  ['of 2026-07-28', serveModern],
])('five calls of a turn go over one connection to a server %s', async (_, serve) => {
  const served = serve({ build: echoing });
  const { say, runner, model } = await play(toolsetOf(served), [calling(...'abcde'.split('').map(echo)), 'done']);
  const events = await say('go');
  expect(responsesOf(events)).toEqual('abcde'.split('').map((text) => ({ result: text })));
  expect(served.methods()).toEqual(['tools/list', ...Array.from({ length: 5 }, () => 'tools/call')]);
  const [first] = model.requests;
  expect(first?.request.config.tools).toMatchObject([
    {
      functionDeclarations: [{ name: 'echo', description: 'Says it again.', parametersJsonSchema: { type: 'object' } }],
    },
  ]);
  await runner.close();
});
