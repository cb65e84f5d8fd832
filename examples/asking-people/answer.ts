import { type Event, getFunctionCalls, type Part, REQUEST_INPUT } from 'eventloom';

/** The part of a message that answers the question that was asked last; undefined when none was. */
export function answerTo(events: readonly Event[], result: unknown): Part | undefined {
  const question = events.flatMap(getFunctionCalls).findLast(({ name }) => name === REQUEST_INPUT);
  return question?.id === undefined
    ? undefined
    : { functionResponse: { id: question.id, name: REQUEST_INPUT, response: { result } } };
}
