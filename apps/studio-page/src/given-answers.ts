import { createContext } from 'react';
import type { Event } from '@eventloom/core';
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

/** The answers by the ids of the calls that they were about. */
export const GivenAnswers = createContext(NO_ANSWERS);

/** Returns the newest answer for each call, by its id. */
export function givenAnswersIn(events: readonly Event[]): ReadonlyMap<string, GivenAnswer> {
  const questions = new Map<string, { readonly callId: string; readonly kind: string; readonly askedAt: number }>();
  const answers = new Map<string, GivenAnswer>();
  for (const { author, content, timestamp } of events)
    for (const { functionCall, functionResponse } of content?.parts ?? []) {
      const [, kind = ''] = /^adk_request_(confirmation|credential|input)$/.exec(functionCall?.name ?? '') ?? [];
      if (functionCall?.id !== undefined && kind !== '') {
        const { originalFunctionCall: original, functionCallId } = functionCall.args ?? {};
        const callId = isRecord(original) ? original['id'] : functionCallId;
        if (typeof callId === 'string') questions.set(functionCall.id, { callId, kind, askedAt: timestamp });
      }
      const question = questions.get(functionResponse?.id ?? '');
      if (!question || author !== 'user') continue;
      const { callId, askedAt } = question;
      answers.set(callId, {
        ...readGiven(question.kind, functionResponse?.response ?? {}),
        seconds: timestamp - askedAt,
      });
    }
  return answers;
}

function readGiven(kind: string, response: JsonFields): Pick<GivenAnswer, 'decision' | 'value'> {
  const { confirmed, payload, result } = response;
  if (kind === 'confirmation') return { decision: confirmed === true ? 'approved' : 'rejected', value: payload };
  return { decision: 'answered', value: kind === 'input' ? (result ?? response) : undefined };
}
