import {
  type BaseAgent,
  type BaseTool,
  type EventActions,
  type FunctionResponsePart,
  InvalidEventError,
  type InvocationContext,
  toError,
} from '@eventloom/core';
import { enclosureOf, isRecord, isToolResult, sealJson } from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';

/** The response to a tool call, and its media. */
export interface ToolResponse {
  readonly response: Readonly<Record<string, unknown>>;
  readonly parts?: readonly FunctionResponsePart[] | undefined;
}

/** The error response to a call whose result would lose its content in JSON. */
interface LostResponse extends ToolResponse {
  readonly fault: InvalidEventError;
}

/**
 * Converts a tool's result to a response as the ADK does: to what `JSON.stringify` makes of an object, to
 * `{ results: list }` for a list, and to `{ result: value }` for any other value. The media of a `toolResult` become
 * parts.
 *
 * A result that would lose its content in JSON (with a Map, an Error, bytes, NaN, a BigInt, a cycle, …) is an error
 * response, although the tool has run: a model that reads `{}` takes the work for done without a result. Functions in
 * an object are left out. The response is a frozen copy, so that the tool ledger and the event can share it.
 */
export function toToolResponse(toolName: string, result: unknown): ToolResponse | LostResponse {
  if (result === undefined) return { response: { result: null } };
  const given = isToolResult(result) ? result : undefined;
  const returned = given ? given.response : result;
  let copied: ReturnType<typeof sealJson>;
  try {
    copied = sealJson(returned, true);
  } catch (thrown) {
    copied = { fault: { path: '', reason: `has a getter or a toJSON that threw: ${toError(thrown).message}` } };
  }
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    const place = path === '' ? '' : ` at ${path}`;
    const fault = new InvalidEventError(
      `tool ${toolName} returned a value that is not JSON: the result${place} ${reason}`,
    );
    return { response: { error: fault.message }, fault };
  }
  const { value } = copied;
  const response = isRecord(value) ? value : Array.isArray(value) ? { results: value } : { result: value };
  return given && given.parts.length > 0 ? { response, parts: given.parts } : { response };
}

/**
 * Returns the response to a call with these actions: an error for a refused transfer, a notice while the call waits for a person, or else
 * the tool's response.
 */
export function responseWithActions(
  turn: AgentTurn,
  actions: EventActions,
  given: ToolResponse | undefined,
): ToolResponse | undefined {
  const refused = refusedTransfer(turn, actions);
  if (refused) return { response: refused };
  if (!asksPerson(actions)) return given;
  const response = whileAsking(turn.context, actions, given?.response);
  return response === given?.response ? given : response && { response };
}

/**
 * Checks a transfer that a tool requested. If the target does not exist, is the current agent or is forbidden by the
 * transfer rules, the function removes the action and returns an error for the model. Otherwise it returns undefined.
 */
function refusedTransfer({ agent, context }: AgentTurn, actions: EventActions): { error: string } | undefined {
  const name = actions.transferToAgent;
  if (name === undefined) return undefined;
  const reason = faultOf(agent, context.invocation.rootAgent, name);
  if (reason === undefined) return undefined;
  delete actions.transferToAgent;
  return { error: `cannot transfer to ${JSON.stringify(name)}: ${reason}` };
}

function faultOf(agent: BaseAgent, root: BaseAgent, name: string): string | undefined {
  if (name === agent.name) return 'it has control already';
  const target = root.findAgent(name);
  if (!target) return 'there is no agent of that name';
  if (agent.findSubAgent(name)) return undefined;
  const isAbove = target.findSubAgent(agent.name) !== undefined;
  const rules = agent.transferRules;
  if (isAbove) return rules?.toParent === false ? 'this agent may not transfer to agents above it' : undefined;
  return rules?.toPeers === false ? 'this agent may not transfer to agents beside it' : undefined;
}

/**
 * Returns the response to a call that waits for a person: the tool's own, or a notice. An agent that was called as a tool can wait only in
 * a resumable run. In other runs its requests are removed and its model gets an error.
 */
function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: ToolResponse['response'] | undefined,
): ToolResponse['response'] | undefined {
  if (enclosureOf(context.branch) !== '' && !context.isResumable) {
    delete actions.requestedAuthConfigs;
    if (actions.requestedToolConfirmations) delete actions.skipSummarization;
    delete actions.requestedToolConfirmations;
    delete actions.requestedInputs;
    return {
      error:
        'This tool call needs an answer of a person, for which an agent that is a tool can wait in a resumable run only, and not within a tool that is not idempotent.',
    };
  }
  if (response) return response;
  return { error: `This tool call requires ${whatIsAsked(actions)}.` };
}

function whatIsAsked({ requestedToolConfirmations, requestedAuthConfigs }: EventActions): string {
  if (requestedToolConfirmations) return 'confirmation, please approve or reject';
  return requestedAuthConfigs ? 'a credential' : 'input of a person';
}

/** Returns true if the actions request a credential, a confirmation or input. A program may leave empty requests behind. */
export function asksPerson({
  requestedAuthConfigs,
  requestedToolConfirmations,
  requestedInputs,
}: EventActions): boolean {
  return (
    (requestedAuthConfigs !== undefined && Object.keys(requestedAuthConfigs).length > 0) ||
    (requestedToolConfirmations !== undefined && Object.keys(requestedToolConfirmations).length > 0) ||
    (requestedInputs !== undefined && Object.keys(requestedInputs).length > 0)
  );
}

/** Returns true if the actions request only confirmations, and none of them with `endsTurn`: the model replies meanwhile. */
export function asksOnlyConfirmations(actions: EventActions): boolean {
  const { requestedToolConfirmations: _, ...others } = actions;
  return asksPerson(actions) && !asksPerson(others) && actions.skipSummarization !== true;
}

/** Returns the error response to a call of a tool that the agent does not have. */
export function unknownTool(
  name: string | undefined,
  tools: Readonly<Record<string, BaseTool>>,
): { readonly error: string } {
  const names = Object.keys(tools);
  return {
    error: `there is no tool named "${name}"; ${names.length > 0 ? `the tools are: ${names.join(', ')}` : 'there are no tools'}`,
  };
}
