import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { MCPToolset, OpenAPIToolset, ToolContext } from './index.ts';

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

test('tools of an OpenAPI document have the names that the ADK gives them', async () => {
  const operation = { responses: {} };
  const paths = {
    '/items': {
      get: { ...operation, operationId: 'listItems' },
      post: { ...operation, operationId: 'create-item' },
      put: operation,
    },
    '/items/{itemId}': { delete: { ...operation, operationId: 'Delete it!' } },
    '/other': { get: { ...operation, operationId: 'list_items' } },
  };
  const named = async (options: object): Promise<string[]> =>
    (await new OpenAPIToolset({ specDict: { ...openapi, paths }, ...options }).getTools()).map(({ name }) => name);
  expect((await named({})).toSorted()).toEqual([
    'create-item',
    'delete_it',
    'list_items',
    'list_items_2',
    'put__items',
  ]);
  expect(await named({ toolFilter: ['create-item', 'put__items'] })).toHaveLength(2);
  expect(await named({ prefix: 'shop', toolFilter: ['shop_create-item'] })).toEqual(['shop_create-item']);
  expect(await named({ preservePropertyNames: true, toolFilter: ['listItems'] })).toEqual(['listItems']);
});

test('a tool of an OpenAPI document whose name is taken gets no name that another operation has', async () => {
  const get = (operationId: string) => ({ get: { operationId, responses: {} } });
  const paths = { '/a': get('listItems'), '/b': get('list_items'), '/c': get('list_items_2') };
  const tools = await new OpenAPIToolset({ specDict: { ...openapi, paths } }).getTools();
  expect(tools.map(({ name }) => name)).toEqual(['list_items', 'list_items_3', 'list_items_2']);
});

test('a tool of an OpenAPI document that is called without a context says what to write', async () => {
  const paths = { '/items': { get: { operationId: 'listItems', responses: {} } } };
  const [tool] = await new OpenAPIToolset({ specDict: { ...openapi, paths } }).getTools();
  const call = tool?.runAsync({ args: {}, toolContext: undefined as never });
  await expect(call).rejects.toThrow(
    'RestApiTool "list_items": runAsync: toolContext is missing; call it in a tool of the program',
  );
});

test('a tool of an OpenAPI document names its arguments in errors as the model knows them, and leaves out others', async () => {
  const parameters = [{ name: 'petId', in: 'query', required: true, schema: { type: 'integer' } }];
  const paths = { '/items': { get: { operationId: 'getItem', parameters, responses: {} } } };
  const [tool] = await new OpenAPIToolset({ specDict: { ...openapi, paths } }).getTools();
  const toolContext = new ToolContext({ invocationContext: testContext(), functionCallId: 'c' });
  const errorOf = (args: Record<string, unknown>) => tool?.runAsync({ args, toolContext });
  expect(await errorOf({ petId: 3 })).toEqual({
    error: 'the arguments of get_item are not valid: value: Instance does not have required property "pet_id".',
  });
  expect(await errorOf({ pet_id: 'rex', other: 1 })).toEqual({
    error: expect.stringMatching(/^the arguments of get_item are not valid: pet_id: .*integer/),
  });
});
