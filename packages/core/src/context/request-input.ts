import type { FunctionResponse } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import { getFunctionCalls, getFunctionResponses } from '../event/event-predicates.ts';
import { newestFirst } from '../event/newest-first.ts';
import {
  inputOf,
  type InputRequestParams,
  inputRequestOf,
  inputRequestPart,
  toInputRequest,
} from '../tool/input-request.ts';
import type { InvocationContext } from './invocation-context.ts';

/**
 * Asks a person for input, for an agent of one's own:
 *
 *     const size = yield* requestInput(context, { message: 'Which size?' });
 *     if (size === undefined) return;
 *
 * Gives the answer, as the schema wants it. While there is none it yields the question, unless that was asked already, and gives
 * undefined: the agent returns then. With the answer it is run again from its beginning, or in a run that can be resumed from its
 * last checkpoint, and asks again: so each question of an agent needs a key of its own. To an answer that came too late it asks anew.
 *
 * In a run that can be resumed all that run the agent wait, and go on when it is done. In others the run ends, and the answer begins a
 * run of this agent alone.
 * @throws ConfigurationError for a schema that JSON Schema cannot say, and for what is not JSON
 */
export async function* requestInput(
  context: InvocationContext,
  params: InputRequestParams = {},
): AsyncGenerator<Event, unknown, void> {
  const request = toInputRequest('requestInput', params);
  const found = findQuestion(context, request.key);
  const answer = inputOf(found?.answer);
  if (answer !== undefined) return answer;
  if (!found || found.answer) {
    const id = `adk-${context.platform.newUuid()}`;
    const content = { role: 'model', parts: [inputRequestPart(request, id)] };
    yield context.createEvent({ content, longRunningToolIds: [id] });
  }
  context.pause();
  return undefined;
}

/** A question that was asked. */
interface Question {
  readonly answer: FunctionResponse['response'];
}

/**
 * The newest question of the agent under this key: asked in this run of it, or in one before that led to this one, each by an answer
 * to what it asked.
 */
function findQuestion(context: InvocationContext, key: string): Question | undefined {
  const answers = new Map<string, NonNullable<FunctionResponse['response']>>();
  const runs = new Set([context.invocationId]);
  /** What the messages of these runs answer. */
  const leading = new Set<string>();
  for (const event of newestFirst(context.session.events)) {
    if (event.author === 'user') {
      for (const { id = '', response = {} } of getFunctionResponses(event)) {
        if (!answers.has(id)) answers.set(id, response);
        if (runs.has(event.invocationId)) leading.add(id);
      }
      continue;
    }
    for (const call of getFunctionCalls(event)) {
      const { id = '' } = call;
      if (leading.has(id)) runs.add(event.invocationId);
      if (inputRequestOf(call)?.key === key && runs.has(event.invocationId) && isOwn(context, event))
        return { answer: answers.get(id) };
    }
  }
  return undefined;
}

function isOwn({ agent, branch, executionId, invocationId }: InvocationContext, event: Event): boolean {
  if (event.author !== agent.name || event.branch !== branch) return false;
  return event.invocationId !== invocationId || event.executionId === executionId;
}
