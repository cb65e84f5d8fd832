import { expect, test } from 'vitest';
import { MCPToolset, OpenAPIToolset } from './index.ts';

const openapi = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.test' }],
  paths: {},
};

test.each([
  ['MCPToolset', new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: 'https://mcp.test' })],
  ['OpenAPIToolset', new OpenAPIToolset({ specDict: openapi })],
])('errors call a toolset %s, as the program imports it', (name, toolset) => {
  expect(toolset.name).toBe(name);
});

test('errors call a toolset of a class of the program by the name of that class', () => {
  class Library extends MCPToolset {}
  expect(new Library({ type: 'StreamableHTTPConnectionParams', url: 'https://mcp.test' }).name).toBe('Library');
});
