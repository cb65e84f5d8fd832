import { createContext } from 'react';
import type { Calls } from '@eventloom/core/internal';
import { isRecord, type JsonFields } from './schema-reader.ts';

/** The answer of a person to a question about a call. */
export interface GivenAnswer {
  /** `approved`, `rejected`, or `answered`. */
  readonly decision: 'approved' | 'rejected' | 'answered';
  /** Seconds between the question and the answer. */
  readonly seconds: number;
  /** The input, or the payload of a decision; undefined for none, and for a credential, which is not shown. */
  readonly value: unknown;
}

const NO_ANSWERS: ReadonlyMap<string, GivenAnswer> = new Map();

/** The answers, by the `callKey` of the calls that they were about. */
export const GivenAnswers = createContext(NO_ANSWERS);

interface CallPlace {
  readonly invocationId: string;
  readonly branch?: string | undefined;
}

/** Returns the key of a call of a message or an event: agents on two branches may give their calls the same ids. */
export function callKey(id: string, { invocationId, branch = '' }: CallPlace): string {
  return JSON.stringify([invocationId, branch, id]);
}

/** Returns the newest answer of a person for each call, by its `callKey`. */
export function givenAnswersIn(calls: Calls): ReadonlyMap<string, GivenAnswer> {
  const answers = new Map<string, GivenAnswer>();
  for (const { id, event, requests } of calls.all) {
    const given = requests.flatMap((request) =>
      request.responses.flatMap((answer) => (answer.event.author === 'user' ? { request, answer } : [])),
    );
    given.sort((one, other) => one.answer.eventIndex - other.answer.eventIndex);
    const newest = given.at(-1);
    if (!newest) continue;
    const { request, answer } = newest;
    answers.set(callKey(id, event), {
      ...readGiven(request.call.name, answer.response),
      seconds: answer.event.timestamp - request.event.timestamp,
    });
  }
  return answers;
}

/** Returns the name of the tool that each request to a person is about, by the id of the request. */
export function askedToolsIn(calls: Calls): ReadonlyMap<string, string> {
  const tools = new Map<string, string>();
  for (const { id, call, about } of calls.all) {
    // The event with the call of an agent that runs as a tool may be unknown until the run has ended.
    const original = call.args?.['originalFunctionCall'];
    const name = about ? about.call.name : isRecord(original) && original['name'];
    if (typeof name === 'string') tools.set(id, name);
  }
  return tools;
}

function readGiven(name: string | undefined, response: JsonFields): Pick<GivenAnswer, 'decision' | 'value'> {
  const { confirmed, payload, result } = response;
  if (name === 'adk_request_confirmation')
    return { decision: confirmed === true ? 'approved' : 'rejected', value: payload };
  return { decision: 'answered', value: name === 'adk_request_input' ? (result ?? response) : undefined };
}
