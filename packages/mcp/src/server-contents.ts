import { type ContentBlock, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Part } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { toResponseWithMedia, describeBlocks, describeResource } from './call-result.ts';
import type { MCPRequest } from './mcp-session.ts';
import { MCPTool } from './mcp-tool.ts';
import type { UserConnections } from './user-connections.ts';

/** The parts of a toolset that the tools over resources and prompts need. */
interface ServerContentsParams {
  /** Returns the name of a tool with the toolset's prefix. */
  readonly nameOf: (name: string) => string;
  readonly timeoutMs: number;
  /** The users' connections, which ask for the consent that a call needs. */
  readonly users: UserConnections;
}

const NO_ARGUMENTS = { type: 'object', properties: {} };
const CURSOR = { cursor: { type: 'string', description: 'The nextCursor of the page before.' } };

/** Creates `list_mcp_resources` and `load_mcp_resource`. */
export function resourceTools(params: ServerContentsParams): MCPTool[] {
  return [
    tool(params, {
      name: 'list_mcp_resources',
      description: 'Lists the resources of the server: their addresses (uri), and templates of addresses.',
      properties: CURSOR,
      request: async ({ cursor }, { client }, options) => {
        const page = typeof cursor === 'string' ? { cursor } : {};
        const { resources, nextCursor } = await client.request({ method: 'resources/list', params: page }, options);
        const templates = client.request({ method: 'resources/templates/list' }, options);
        return { response: { resources, ...(await templates.catch(withoutTemplates)), nextCursor } };
      },
    }),
    tool(params, {
      name: 'load_mcp_resource',
      description: 'Reads a resource of the server.',
      properties: { uri: { type: 'string', description: 'The address of the resource.' } },
      required: ['uri'],
      request: async ({ uri }, { client }, options) => {
        const { contents } = await client.request({ method: 'resources/read', params: { uri: String(uri) } }, options);
        const media: Part[] = [];
        return { response: { contents: contents.map((content) => describeResource(content, media)) }, media };
      },
    }),
  ];
}

/** Creates `list_mcp_prompts` and `get_mcp_prompt`. */
export function promptTools(params: ServerContentsParams): MCPTool[] {
  return [
    tool(params, {
      name: 'list_mcp_prompts',
      description: 'Lists the prompts of the server: texts that it has ready for certain tasks, with their arguments.',
      properties: CURSOR,
      request: async ({ cursor }, { client }, options) => {
        const page = typeof cursor === 'string' ? { cursor } : {};
        const { prompts, nextCursor } = await client.request({ method: 'prompts/list', params: page }, options);
        return { response: { prompts, nextCursor } };
      },
    }),
    tool(params, {
      name: 'get_mcp_prompt',
      description: 'Returns a prompt of the server, filled in.',
      properties: {
        name: { type: 'string', description: 'The name of the prompt.' },
        arguments: { type: 'object', additionalProperties: { type: 'string' }, description: 'Its arguments by name.' },
      },
      required: ['name'],
      request: async ({ name, arguments: given }, { client }, options) => {
        const texts = Object.entries(isRecord(given) ? given : {}).map(([key, value]) => [key, String(value)]);
        const filled = { name: String(name), arguments: Object.fromEntries(texts) };
        const { description, messages } = await client.request({ method: 'prompts/get', params: filled }, options);
        const media: Part[] = [];
        const said = messages.map(({ role, content }) => ({ role, content: describeOne(content, media) }));
        return { response: { description, messages: said }, media };
      },
    }),
  ];
}

interface ServerContentsTool {
  readonly name: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly request: (
    args: Readonly<Record<string, unknown>>,
    session: Parameters<MCPRequest<unknown>>[0],
    options: Parameters<MCPRequest<unknown>>[1]['options'],
  ) => Promise<{ readonly response: Record<string, unknown>; readonly media?: Part[] }>;
}

/** Creates a tool that only reads, so that its calls may be repeated. */
function tool(
  { nameOf, timeoutMs, users }: ServerContentsParams,
  { name, description, properties, required = [], request }: ServerContentsTool,
): MCPTool {
  return new MCPTool({
    name: nameOf(name),
    serverToolName: name,
    description,
    inputSchema: { ...NO_ARGUMENTS, properties, ...(required.length > 0 && { required }) },
    idempotent: true,
    annotations: { readOnlyHint: true },
    call: async (args, toolContext) => {
      const missing = required.find((key) => typeof args[key] !== 'string' || args[key] === '');
      if (missing !== undefined) return { error: `the argument ${missing} is missing; write it as a text` };
      return users.use(toolContext, async (connection) => {
        const { response, media = [] } = await connection.send(
          (session, { options }) => request(args, session, options),
          { isRepeatable: true, timeoutMs, signal: toolContext.abortSignal },
        );
        return toResponseWithMedia(response, media);
      });
    },
  });
}

/** Returns no templates if the server does not know the method, like many servers with resources; throws other errors again. */
function withoutTemplates(error: unknown): { readonly resourceTemplates?: undefined } {
  if (ProtocolError.isInstance(error) && error.code === ProtocolErrorCode.MethodNotFound) return {};
  throw error;
}

function describeOne(content: ContentBlock, media: Part[]): unknown {
  return describeBlocks([content], media)[0];
}
