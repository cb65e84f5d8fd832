import { useCallback, useEffect, useState } from 'react';
import { ConnectionLostError, type PersonAnswer, type PersonRequest, ServerError } from '@eventloom/client';
import type { UseAgentResult } from '@eventloom/client/react';
import type { VoiceCall } from './voice.tsx';

/** A request to the person that is shown, and the answer once it is sent. */
export interface ShownRequest {
  readonly request: PersonRequest;
  readonly answer?: PersonAnswer;
  /** True once the run with the answer has ended, or the call has accepted it. */
  readonly isAccepted?: boolean;
  /** The error of the server about the answer. The person can send another one. */
  readonly refusal?: string;
}

export interface FormAnswers {
  readonly shown: readonly ShownRequest[];
  /** True if the server refused an answer that is shown. */
  readonly isRefused: boolean;
  readonly give: (request: PersonRequest, answer: PersonAnswer) => Promise<void>;
  /** Removes the requests that are answered. */
  readonly clear: () => void;
}

/**
 * Keeps a request in its place after its answer until the other requests of its run are answered too, so that a second click does not
 * answer a request that moved to the place of the first. A refused answer stays until another is accepted. During a call, answers are sent
 * in the call.
 */
export function useAnswers(
  { chat, answer, status }: UseAgentResult,
  requests: readonly PersonRequest[],
  { status: callStatus, answer: answerInCall }: VoiceCall,
): FormAnswers {
  const [shown, setShown] = useState<readonly ShownRequest[]>([]);
  const merged = merge(shown, requests);
  if (merged !== shown) setShown(merged);

  const give = useCallback(
    async (request: PersonRequest, given: PersonAnswer) => {
      // The snapshot is newer than the status of the last drawing.
      if (chat.snapshot.status !== 'idle') return;
      const change = (changes: Partial<ShownRequest>): void =>
        setShown((before) => before.map((each) => (each.request.id === request.id ? { request, ...changes } : each)));
      change({ answer: given });
      let refusal: string | undefined;
      if (callStatus === 'open') {
        refusal = await answerInCall(request, given);
      } else {
        await answer([request, given]);
        const { error } = chat.snapshot;
        if (isRefusal(error)) refusal = error.message;
      }
      change(refusal === undefined ? { answer: given, isAccepted: true } : { answer: given, refusal });
    },
    [chat, answer, callStatus, answerInCall],
  );
  const clear = useCallback(() => setShown((before) => before.filter(({ answer: given }) => given === undefined)), []);
  const isSettled = status === 'idle' && shown.every(({ isAccepted }) => isAccepted);
  useEffect(() => {
    if (isSettled) clear();
  }, [isSettled, clear]);
  return { shown, isRefused: shown.some(({ refusal }) => refusal !== undefined), give, clear };
}

/** True for an error of a request that started no run. */
function isRefusal(error: Error | undefined): error is Error {
  return (ServerError.isInstance(error) && error.status !== 200) || ConnectionLostError.isInstance(error);
}

/** Returns the shown requests without those that were answered elsewhere, and with new ones; the same list if nothing changed. */
function merge(shown: readonly ShownRequest[], requests: readonly PersonRequest[]): readonly ShownRequest[] {
  const open = new Set(requests.map(({ id }) => id));
  // A refused answer may have come after an answer of another page.
  const kept = shown.filter(
    ({ request, answer, refusal }) => (answer !== undefined && refusal === undefined) || open.has(request.id),
  );
  const known = new Set(kept.map(({ request }) => request.id));
  const added = requests.filter(({ id }) => !known.has(id)).map((request) => ({ request }));
  return kept.length === shown.length && added.length === 0 ? shown : [...kept, ...added];
}
