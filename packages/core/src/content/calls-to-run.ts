import type { FunctionCall, Part } from './content.ts';

/**
 * The calls of a reply that are for the agent to run. A model whose service runs tools itself (remote MCP servers) tells of a call
 * and of its response in one reply: such a call is over.
 */
export function callsToRun(parts: readonly Part[] = []): FunctionCall[] {
  const open: FunctionCall[] = [];
  for (const { functionCall, functionResponse } of parts) {
    if (functionCall) open.push(functionCall);
    if (!functionResponse) continue;
    const { id, name } = functionResponse;
    const at = open.findIndex((call) => (id ? call.id === id : call.name === name));
    if (at >= 0) open.splice(at, 1);
  }
  return open;
}
