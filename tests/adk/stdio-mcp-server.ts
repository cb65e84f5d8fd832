// An MCP server over standard input and output, with the tools `list_notes` and `read_note`.

import process from 'node:process';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'notes', version: '1' });
server.registerTool('list_notes', { description: 'Lists the notes.' }, () => ({
  content: [{ type: 'text', text: 'a.txt, b.txt' }],
}));
server.registerTool(
  'read_note',
  { description: 'Reads a note.', inputSchema: z.object({ name: z.string() }) },
  ({ name }) => ({
    content: [{ type: 'text', text: `${name} belongs to ${process.env['NOTES_OWNER'] ?? 'nobody'}.` }],
  }),
);
await server.connect(new StdioServerTransport());
