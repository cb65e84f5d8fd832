import { answerOf, type SessionCall, Calls, isCancelled } from '../calls/calls.ts';
import { describeKind, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import {
  inputOf,
  type InputRequestParams,
  inputRequestOf,
  inputRequestPart,
  toInputRequest,
} from '../calls/person-requests.ts';
import type { InvocationContext } from './invocation-context.ts';

/**
 * Asks a person for input, in a custom agent. Tools call `toolContext.requestInput` instead.
 *
 * The first time it yields an event with the question, and returns undefined: then the agent has to return. The client
 * shows the question and sends the answer in its next message, as the response of the function call
 * `adk_request_input`. The agent is then run again from its beginning, and the same call returns the answer, which
 * matches `responseSchema`. An agent with several questions gives each its own `key`. To skip work that was done before
 * the question, look at the state that the agent wrote, or at `context.agentState`.
 *
 * In a resumable run the agents around this one wait, and continue when it is done. In other runs the run ends with the question, and the
 * answer starts a run of this agent alone.
 *
 * @throws ConfigurationError for a value that is not a context, for a misspelt parameter, for a schema that JSON Schema
 * cannot express, and for values that are not JSON
 *
 * @example
 * class Tailor extends BaseAgent {
 *   protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
 *     const size = yield* requestInput(context, { message: 'Which size?' });
 *     if (size === undefined) return;
 *     yield context.createEvent({ content: { role: 'model', parts: [{ text: `Size ${String(size)} it is.` }] } });
 *   }
 * }
 */
export async function* requestInput(
  context: InvocationContext,
  params: InputRequestParams = {},
): AsyncGenerator<Event, unknown, void> {
  if (!isRecord(context?.invocation))
    throw new ConfigurationError(
      `requestInput: expected the context of an agent, got ${describeKind(context)}; write requestInput(context, { message: 'Which size?' })`,
    );
  const request = toInputRequest('requestInput', params);
  const earlier = findRequest(context, request.key);
  const response = earlier && answerOf(earlier)?.response;
  const answer = inputOf(response);
  if (answer !== undefined) return answer;
  if (!earlier || response || isCancelled(earlier)) {
    const id = `adk-${context.platform.newUuid()}`;
    const content = { role: 'model', parts: [inputRequestPart(request, id)] };
    yield context.createEvent({ content, longRunningToolIds: [id] });
  }
  context.pause();
  return undefined;
}

/**
 * Finds the agent's newest request with this key, made in this run or in an earlier run whose calls this run answers.
 */
function findRequest(context: InvocationContext, key: string): SessionCall | undefined {
  const { invocation, invocationId } = context;
  const runs = new Set([invocationId]);
  return Calls.of(invocation).all.findLast((call) => {
    if (call.responses.some(({ event }) => event.author === 'user' && runs.has(event.invocationId)))
      runs.add(call.event.invocationId);
    return inputRequestOf(call.call)?.key === key && runs.has(call.event.invocationId) && isOwn(context, call);
  });
}

function isOwn(context: InvocationContext, { event, branch }: SessionCall): boolean {
  const { agent, executionId, invocationId } = context;
  if (event.author !== agent.name || branch !== context.branch) return false;
  return event.invocationId !== invocationId || event.executionId === executionId;
}
