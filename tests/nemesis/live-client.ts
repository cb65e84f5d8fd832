import type { Event } from '@eventloom/core';
import { finalText } from './attacked-agent.ts';
import { type Answer, type AnswerEnd, type ClientSession, type Frame, TIMEOUT_MS } from './client.ts';

/**
 * Calls `/run_live`, sends each message when the model has answered the one before, and then hangs up. Never rejects.
 * The result covers the whole call.
 */
export function call(url: string, session: ClientSession, texts: readonly string[]): Promise<Answer> {
  const { appName, userId, sessionId } = session;
  const query = new URLSearchParams({ app_name: appName, user_id: userId, session_id: sessionId, modalities: 'TEXT' });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/run_live?${query}`);
  const frames: Frame[] = [];
  const ended = Promise.withResolvers<AnswerEnd>();
  const late = setTimeout(() => {
    ended.resolve({ kind: 'error', code: 'NO_ANSWER', message: `nothing came for ${TIMEOUT_MS} ms` });
    socket.close();
  }, TIMEOUT_MS);
  let said = 0;
  let token = '';
  let heard = '';
  const sayNext = (): void => {
    const text = texts[said++];
    token = text?.split(' ')[1] ?? '';
    heard = '';
    if (text === undefined) socket.send(JSON.stringify({ close: true }));
    else socket.send(JSON.stringify({ content: { role: 'user', parts: [{ text }] } }));
  };
  socket.addEventListener('open', sayNext);
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const event = JSON.parse(data) as Event & { readonly error?: unknown; readonly code?: string };
    if (typeof event.error === 'string' && event.author === undefined) {
      ended.resolve({ kind: 'error', code: event.code ?? '', message: event.error });
      return;
    }
    if (event.author === undefined) return;
    frames.push({ id: undefined, event });
    late.refresh();
    if (event.partial === true) heard += event.content?.parts?.[0]?.text ?? '';
    // The model may first answer a message from before the call.
    if (event.turnComplete === true && heard.includes(finalText(token))) sayNext();
  });
  // A connection that cannot be opened counts as lost.
  socket.addEventListener('error', () => ended.resolve({ kind: 'cut' }));
  socket.addEventListener('close', ({ code }) => ended.resolve({ kind: code === 1000 ? 'completed' : 'cut' }));
  return ended.promise.then((end) => {
    clearTimeout(late);
    const invocationId = frames[0]?.event.invocationId;
    const question = { session, text: undefined, requestId: undefined, callIds: [], asked: 'call' } as const;
    return { ...question, status: undefined, invocationId, frames, end };
  });
}
