import {
  askedCallId,
  type Event,
  EventTag,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  hasTag,
  inputOf,
  inputRequestOf,
  newestFirst,
  type ToolConfirmation,
} from '@eventloom/core';
import { confirmationOf, refusalOf } from '@eventloom/core/internal';

/** A call that goes on, or is over, because of what a person answered. */
export interface ResumedCall {
  readonly call: FunctionCall;
  /** What the model is told instead of the call being run: the person refused, or answered too late. */
  readonly refusal: { readonly error: string } | undefined;
  readonly confirmation: ToolConfirmation | undefined;
  /** What the person answered whom the call asked for input, by the key of the question. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The event of the newest answer, which sets the call off. */
  readonly eventId: string;
  /** Answers before it; the call may have been run on one of them, in an invocation that was cut off. */
  readonly earlier: readonly AnswerEvent[];
}

/** The event of an answer. */
export interface AnswerEvent {
  readonly invocationId: string;
  readonly eventId: string;
}

/** By the id of the call. */
export type ResumedCalls = ReadonlyMap<string, ResumedCall>;

/** What the newest message answers. */
export interface Answers {
  readonly resumed: ResumedCalls;
  /** True when other calls of the same reply still wait for a person. */
  readonly isWaiting: boolean;
}

/** A question to a person about a call. */
interface Question {
  readonly request: FunctionCall;
  readonly author: string;
  /** What was answered, the newest first. */
  readonly answers: readonly Answer[];
}

interface Answer extends AnswerEvent {
  /** Grows with the place in the history. */
  readonly order: number;
  readonly response: Readonly<Record<string, unknown>>;
}

/** Who made the calls, and where. */
interface Asking {
  readonly agent: { readonly name: string };
  readonly branch: string | undefined;
}

/** What there is between the newest message and the replies whose calls it answers, by the ids of calls. */
class Answered {
  /** The replies, newest first. */
  readonly replies: Event[] = [];
  /** The calls that the message is about and that a person was asked about. */
  readonly asked = new Map<string, FunctionCall>();
  /** Questions that are not over: their call has no second response. */
  readonly #open = new Map<string, Question[]>();
  /** The newest confirmation of a call by a question that is over. */
  readonly confirmed = new Map<string, ToolConfirmation>();
  /** The inputs to a call by questions that are over, the newest first. */
  readonly #inputs = new Map<string, Question[]>();
  readonly #responses = new Map<string, Answer[]>();
  #seen = 0;

  constructor(events: readonly Event[], ids: readonly string[], branch: string | undefined) {
    const wanted = new Set(ids);
    for (const event of newestFirst(events)) {
      if (wanted.size === 0) return;
      // Calls of agents that run beside this one may have the same ids. With those that were imported nobody goes on.
      if (event.branch === branch && !hasTag(event, EventTag.imported)) this.#add(event, wanted);
    }
  }

  #add(event: Event, wanted: Set<string>): void {
    this.#seen++;
    for (const { id = '', response = {} } of getFunctionResponses(event)) {
      listAt(this.#responses, id).push({
        invocationId: event.invocationId,
        eventId: event.id,
        order: -this.#seen,
        response,
      });
    }
    let isReply = false;
    for (const call of getFunctionCalls(event)) {
      const { id = '' } = call;
      const callId = askedCallId(call);
      const isWanted = wanted.delete(id);
      if (callId !== undefined) {
        if (isWanted) wanted.add(callId);
        this.#addQuestion(callId, { request: call, author: event.author, answers: this.#responses.get(id) ?? [] });
      } else if (isWanted) {
        isReply = true;
        if (this.#open.has(id)) this.asked.set(id, call);
      }
    }
    if (isReply) this.replies.push(event);
  }

  #addQuestion(callId: string, question: Question): void {
    const responses = this.#responses.get(callId)?.length ?? 0;
    const confirmation = responses < 2 ? undefined : confirmationIn(question);
    if (responses < 2) listAt(this.#open, callId).push(question);
    else if (inputRequestOf(question.request)) listAt(this.#inputs, callId).push(question);
    else if (confirmation && !this.confirmed.has(callId)) this.confirmed.set(callId, confirmation);
  }

  questions(callId: string): readonly Question[] {
    return this.#open.get(callId) ?? [];
  }

  /** The newest input to a call under each key. */
  inputs(callId: string): ReadonlyMap<string, unknown> {
    const questions = [...this.questions(callId), ...(this.#inputs.get(callId) ?? [])];
    const inputs = new Map<string, unknown>();
    for (const { request, answers } of questions) {
      const key = inputRequestOf(request)?.key;
      const value = inputOf(answers[0]?.response);
      if (key !== undefined && value !== undefined && !inputs.has(key)) inputs.set(key, value);
    }
    return inputs;
  }

  hasResponse(callId: string): boolean {
    return this.#responses.has(callId);
  }
}

/**
 * What answers to these calls and questions mean to the agent that made the calls, whichever messages they came with.
 *
 * The model is asked when it can be told all results of a reply: while long-running calls of it have none, or a person was asked
 * about one and did not answer, the agent waits. Any other call without an answer was cut off and will never have one.
 *
 * A call that a person was asked about has a first response, which says that it waits; with a second one the questions are over.
 * It is run when all that was asked about it is answered, and is over with the first refusal.
 */
export function answersTo(events: readonly Event[], ids: readonly string[], { agent, branch }: Asking): Answers {
  const answered = new Answered(events, ids, branch);
  const resumed = new Map<string, ResumedCall>();
  for (const [id, call] of answered.asked) {
    const questions = answered.questions(id);
    if (questions.some(({ author }) => author !== agent.name)) continue;
    const refusal = questions.map(refusalIn).find((each) => each !== undefined);
    if (!refusal && questions.some(isUnanswered)) continue;
    const confirmation = questions.map(confirmationIn).find((each) => each !== undefined);
    const [newest, ...earlier] = newestAnswers(questions);
    if (!newest) continue;
    resumed.set(id, {
      call,
      refusal,
      confirmation: confirmation ?? answered.confirmed.get(id),
      inputs: answered.inputs(id),
      eventId: newest.eventId,
      earlier,
    });
  }
  const waits = ({ id = '' }: FunctionCall): boolean => !resumed.has(id) && answered.questions(id).some(isUnanswered);
  const isWaiting = answered.replies.some(
    (reply) => reply.longRunningToolIds?.some((id) => !answered.hasResponse(id)) || getFunctionCalls(reply).some(waits),
  );
  return { resumed, isWaiting };
}

function listAt<T>(lists: Map<string, T[]>, key: string): T[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}

/** Each event once that answered one of these questions, the newest first. */
function newestAnswers(questions: readonly Question[]): AnswerEvent[] {
  const answers = questions.flatMap((question) => question.answers);
  const byEvent = new Map(answers.map((answer) => [answer.eventId, answer]));
  return [...byEvent.values()].toSorted((one, other) => other.order - one.order);
}

function isUnanswered({ answers }: Question): boolean {
  return answers.length === 0;
}

function confirmationIn({ request, answers }: Question): ToolConfirmation | undefined {
  return confirmationOf(request, answers[0]?.response);
}

function refusalIn({ request, answers }: Question): { error: string } | undefined {
  return refusalOf(request, answers[0]?.response);
}
