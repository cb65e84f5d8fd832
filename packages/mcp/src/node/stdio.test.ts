import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { calling, play, responsesOf } from '../fixtures/play.ts';
import { MCPToolset } from '../mcp-toolset.ts';
import { StdioConnectionParams } from './index.ts';

const EVERYTHING = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

test('server-everything over stdio: its tools are offered and called', async () => {
  const toolset = new MCPToolset({
    connectionParams: new StdioConnectionParams({
      serverParams: { command: process.execPath, args: [EVERYTHING, 'stdio'] },
    }),
  });
  const { say, runner } = await play(toolset, [
    calling(
      { id: 'a', name: 'echo', args: { message: 'hi' } },
      { id: 'b', name: 'get-sum', args: { a: 2, b: 3 } },
      { id: 'c', name: 'get-tiny-image', args: {} },
      { id: 'd', name: 'get-structured-content', args: { location: 'New York' } },
      { id: 'e', name: 'trigger-long-running-operation', args: { duration: 0.1, steps: 2 } },
    ),
    'done',
  ]);
  const events = await say('go');
  expect(toolset.name).toBe('index.js');
  expect(responsesOf(events)).toMatchObject([
    { result: 'Echo: hi' },
    { result: 'The sum of 2 and 3 is 5.' },
    {
      content: [expect.stringContaining('image'), { type: 'image', mimeType: 'image/png', part: 0 }, expect.anything()],
    },
    { temperature: 33, conditions: 'Cloudy', humidity: 82 },
    { result: expect.stringContaining('completed') },
  ]);
  const progress = events.flatMap(({ partial, content }) => (partial && content?.parts?.[0]?.functionResponse) || []);
  // The client library drops a report that arrives together with the result: the last one, on a fast machine.
  expect(progress[0]).toMatchObject({ id: 'e', response: { output: { progress: 1, total: 2 } } });
  await runner.close();
});

test('a command that does not exist makes the server unavailable, by name', async () => {
  const toolset = new MCPToolset({
    name: 'files',
    connectionParams: new StdioConnectionParams({ serverParams: { command: 'no-such-program-here' } }),
  });
  await expect(toolset.getTools()).rejects.toMatchObject({
    code: 'MCP_CONNECTION',
    message: 'MCP server "files": cannot connect to the process no-such-program-here: ENOENT',
  });
});
