import {
  type Content,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionCalls,
  InvalidMessageError,
  type Part,
} from '@eventloom/core';
import { CallIndex } from './call-index.ts';
import { RequestAnswers, type RequestAnswersParams } from './request-answers.ts';

/** A message, and the events with the calls that it answers: one for each of its function responses, in their order. */
export interface MatchedMessage {
  readonly message: Content;
  readonly calls: readonly Event[];
  /** Undefined for a message without function responses. */
  readonly answers: RequestAnswers | undefined;
}

/** How answers are matched with calls. */
export interface MatchParams extends RequestAnswersParams {
  /** The run that is resumed: only its calls can be answered. Models may give calls of several runs the same ids. */
  readonly invocationId?: string | undefined;
}

/**
 * The message with the name of its call in every function response, and answers to questions as they are stored.
 * @param before the answers of the message that this one takes the place of
 * @throws InvalidMessageError when a response answers no call of the session, or one that has its final answer, and for an answer to a
 * question that is none
 */
export async function matchAnswers(
  message: Content,
  params: MatchParams,
  before?: RequestAnswers,
): Promise<MatchedMessage> {
  const { invocationId, ...answering } = params;
  const index = new CallIndex(params.events, invocationId);
  const answers = new RequestAnswers({ ...answering, events: index.events }, before);
  const calls: Event[] = [];
  const taken = new Set<Event>();
  const parts: Part[] = [];
  for (const part of message.parts ?? []) {
    if (!part.functionResponse) continue;
    const [event, call] = matched(part.functionResponse, index, taken, invocationId);
    calls.push(event);
    taken.add(event);
    const functionResponse = await answers.read({ ...part.functionResponse, name: call.name ?? '' }, call, event);
    // Beside an answer to a question nothing is kept: it may hold what was taken out of the answer.
    parts.push(answers.has(functionResponse) ? { functionResponse } : { ...part, functionResponse });
  }
  return { message: { ...message, parts }, calls, answers };
}

function matched(
  { id = '', name }: FunctionResponse,
  index: CallIndex,
  taken: ReadonlySet<Event>,
  invocationId: string | undefined,
): readonly [Event, FunctionCall] {
  const event = index.find(id, taken);
  const call = event && getFunctionCalls(event).find((each) => each.id === id);
  if (!call) {
    const maker = invocationId === undefined ? 'a run of this session' : `the run ${JSON.stringify(invocationId)}`;
    return fail(`there is no call with the id ${JSON.stringify(id)} that ${maker} made`);
  }
  if (index.isAnswered(event, id) && !event.longRunningToolIds?.includes(id))
    fail(`the call ${JSON.stringify(id)} has its answer already`);
  if (name !== undefined && name !== call.name)
    fail(`the call ${JSON.stringify(id)} is of ${JSON.stringify(call.name)}, not of ${JSON.stringify(name)}`);
  return [event, call];
}

function fail(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}
