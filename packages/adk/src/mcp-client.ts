import { Client } from '@modelcontextprotocol/client';
import { ConfigurationError, systemPlatform, toError, type ToolPredicate } from '@eventloom/core';
import {
  MCPConnectionError,
  type MCPConnectionParams as ServerParams,
  MCPToolset,
  StreamableHTTPConnectionParams as HttpParams,
} from '@eventloom/mcp';
import { toStdioParams } from '#runtime';
import type { MCPConnectionParams, MCPSession, StreamableHTTPConnectionParams } from './mcp.ts';

/** Creates the toolset of a server. @throws ConfigurationError for invalid params */
export function createToolset(
  params: MCPConnectionParams,
  toolFilter: ToolPredicate | readonly string[],
  prefix: string | undefined,
): MCPToolset {
  return new MCPToolset({ connectionParams: toServerParams(params), toolFilter, toolNamePrefix: prefix });
}

/** Connects to a server. @throws ConfigurationError for invalid params, MCPConnectionError */
export async function openSession(params: MCPConnectionParams): Promise<MCPSession> {
  const server = toServerParams(params);
  const { transport } = server['~open']({ platform: systemPlatform, headers: () => ({}), isBusy: true });
  const client = new Client({ name: 'eventloom', version: '1' });
  try {
    await client.connect(transport as Parameters<Client['connect']>[0]);
  } catch (cause) {
    throw new MCPConnectionError(`MCPSessionManager: cannot connect to ${server.address}: ${toError(cause).message}`, {
      cause,
    });
  }
  return client;
}

function toServerParams(params: MCPConnectionParams): ServerParams {
  return params.type === 'StdioConnectionParams' ? toStdioParams(params) : toHttpParams(params);
}

function toHttpParams({
  url,
  header,
  terminateOnClose,
  transportOptions,
}: StreamableHTTPConnectionParams): ServerParams {
  const { requestInit, fetch, ...others } = transportOptions ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new ConfigurationError(
      `MCPToolset: transportOptions.${unknown} is not offered; write requestInit: { headers } or fetch, or the options of MCPToolset of @eventloom/mcp`,
    );
  const given = transportOptions ? requestInit?.headers : header;
  return new HttpParams({ url, terminateOnClose, fetch, headers: toHeaders(given ?? {}) });
}

function toHeaders(given: RequestInit['headers'] | Readonly<Record<string, unknown>>): Record<string, string> {
  const headers = new Headers();
  const entries = given instanceof Headers || Array.isArray(given) ? given : Object.entries(given ?? {});
  for (const [name = '', value] of entries) headers.set(name, String(value));
  return Object.fromEntries(headers);
}
