import { describe, expect, test } from 'vitest';
import { acceptTools } from './server-tools.ts';

describe('marks of arguments that are sent as headers', () => {
  const marked = (mark: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': mark });
  const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest });
  const accept = (inputSchema: object, sendsHeaders = true) =>
    acceptTools({ name: 'srv', prefix: undefined, sendsHeaders }, [{ name: 'f', inputSchema }]);

  test.each([
    ['is empty', object({ a: marked('') }), 'of its argument "a" is not the name of a header'],
    ['has a line break', object({ a: marked('x\r\ny') }), 'is not the name of a header'],
    ['is not text', object({ a: marked(5) }), 'is not the name of a header'],
    ['is of a list', object({ a: marked('A', 'array') }), 'is only for string, integer and boolean'],
    ['is of a number', object({ a: marked('A', 'number') }), 'is only for string, integer and boolean'],
    [
      'stands twice',
      object({ a: marked('Region'), b: object({ c: marked('region') }) }),
      'is that of another argument too',
    ],
    ['is of an item', object({ a: { type: 'array', items: marked('A') } }), 'outside of a property'],
    ['is of an alternative', object({}, { anyOf: [object({ a: marked('A') })] }), 'outside of a property'],
    ['is of the whole schema', { ...object({}), 'x-mcp-header': 'A' }, 'outside of a property'],
  ])('a tool whose mark %s is refused', (_, inputSchema, message) => {
    const { tools, refused } = accept(inputSchema);
    expect(tools).toEqual([]);
    expect(refused).toMatchObject([{ code: 'MCP_TOOL_REFUSED', message: expect.stringContaining(message) }]);
    expect(accept(inputSchema, false).tools).toHaveLength(1);
  });

  test('a tool with valid marks, and with data and a property that look like marks, is offered', () => {
    const data = { 'x-mcp-header': '' };
    const properties = {
      a: marked('A'),
      b: object({ c: marked('C', 'integer') }),
      'x-mcp-header': { type: 'string', default: data, examples: [data] },
    };
    expect(accept(object(properties)).refused).toEqual([]);
  });
});
