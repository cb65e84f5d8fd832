import type { BaseAgent, BaseTool, EventActions, FunctionResponsePart, InvocationContext } from '@eventloom/core';
import { copyJson, enclosureOf, isRecord, isToolResult, sealJson } from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';

/** The answer to a call: a function response, and its media. */
export interface ToolAnswer {
  readonly response: Readonly<Record<string, unknown>>;
  readonly parts?: readonly FunctionResponsePart[] | undefined;
}

/**
 * Returns a tool's result as an answer: an object as it is, anything else under `result`, and the media of a `toolResult` as parts.
 * @param isFinal seals it, so that the tool ledger and the event share it; false where callbacks may still change it in place
 */
export function toToolAnswer(toolName: string, result: unknown, isFinal = false): ToolAnswer {
  if (result === undefined) return { response: { result: null } };
  const given = isToolResult(result) ? result : undefined;
  const returned = given ? given.response : result;
  const copied = isFinal ? sealJson(returned, { toJson: true }) : copyJson(returned, { toJson: true });
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    const place = path === '' ? '' : ` at ${path}`;
    return {
      response: { error: `tool ${toolName} returned something that is not JSON: the result${place} ${reason}` },
    };
  }
  const { value } = copied;
  const response = isRecord(value) ? value : { result: value };
  return given && given.parts.length > 0 ? { response, parts: given.parts } : { response };
}

/** The answer to a call with these actions: that its hand-over is refused, that it waits for a person, and otherwise the tool's own. */
export function answerWithSignals(
  turn: AgentTurn,
  actions: EventActions,
  answer: ToolAnswer | undefined,
): ToolAnswer | undefined {
  const refused = refusedTransfer(turn, actions);
  if (refused) return { response: refused };
  if (!asksPerson(actions)) return answer;
  const response = whileAsking(turn.context, actions, answer?.response);
  return response === answer?.response ? answer : response && { response };
}

/**
 * Checks a transfer that a tool requested. If the tree has no such agent, the agent is the current one, or the transfer
 * rules forbid it, removes the action and returns an error for the model. Otherwise returns undefined.
 */
function refusedTransfer({ agent, context }: AgentTurn, actions: EventActions): { error: string } | undefined {
  const name = actions.transferToAgent;
  if (name === undefined) return undefined;
  const reason = faultOf(agent, context.invocation.rootAgent, name);
  if (reason === undefined) return undefined;
  delete actions.transferToAgent;
  return { error: `cannot hand over to ${JSON.stringify(name)}: ${reason}` };
}

function faultOf(agent: BaseAgent, root: BaseAgent, name: string): string | undefined {
  if (name === agent.name) return 'it has control already';
  const target = root.findAgent(name);
  if (!target) return 'there is no agent of that name';
  if (agent.findSubAgent(name)) return undefined;
  const isAbove = target.findSubAgent(agent.name) !== undefined;
  const rules = agent.transferRules;
  if (isAbove) return rules?.toParent === false ? 'this agent may not hand over to those above it' : undefined;
  return rules?.toPeers === false ? 'this agent may hand over to none beside it' : undefined;
}

/**
 * Returns the response of a call while a person is asked about it: the tool's own, or that it waits. An agent that was
 * called as a tool can wait in a resumable run only; in other runs its questions are removed, and its model gets an
 * error.
 */
function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: ToolAnswer['response'] | undefined,
): ToolAnswer['response'] | undefined {
  if (enclosureOf(context.branch) !== '' && !context.isResumable) {
    delete actions.requestedAuthConfigs;
    delete actions.requestedToolConfirmations;
    delete actions.requestedInputs;
    return {
      error:
        'This tool call needs an answer of a person, for which an agent that is a tool can wait in a resumable run only.',
    };
  }
  if (response) return response;
  return { error: `This tool call requires ${whatIsAsked(actions)}.` };
}

function whatIsAsked({ requestedToolConfirmations, requestedAuthConfigs }: EventActions): string {
  if (requestedToolConfirmations) return 'confirmation, please approve or reject';
  return requestedAuthConfigs ? 'a credential' : 'input of a person';
}

/** True when a person is asked something before a call goes on. */
export function asksPerson({
  requestedAuthConfigs,
  requestedToolConfirmations,
  requestedInputs,
}: EventActions): boolean {
  return (
    requestedAuthConfigs !== undefined || requestedToolConfirmations !== undefined || requestedInputs !== undefined
  );
}

/** The answer to a call of a tool that the agent does not have. */
export function unknownTool(
  name: string | undefined,
  tools: Readonly<Record<string, BaseTool>>,
): { readonly error: string } {
  const names = Object.keys(tools);
  return {
    error: `there is no tool named "${name}"; ${names.length > 0 ? `the tools are: ${names.join(', ')}` : 'there are no tools'}`,
  };
}
