import { type Event, getFunctionCalls, type Part, REQUEST_INPUT } from 'eventloom';

/** Returns the part of a message that answers the newest request for input; undefined without one. */
export function answerTo(events: readonly Event[], result: unknown): Part | undefined {
  const question = events.flatMap(getFunctionCalls).findLast(({ name }) => name === REQUEST_INPUT);
  return question?.id === undefined
    ? undefined
    : { functionResponse: { id: question.id, name: REQUEST_INPUT, response: { result } } };
}
