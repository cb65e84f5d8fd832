import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { SessionKey } from '@eventloom/core';
import { AgentChat, type AgentChatOptions, type ChatSnapshot } from '../chat/agent-chat.ts';
import type { Conversation, Message, PersonRequest } from '../conversation.ts';
import type { EventloomClient } from '../eventloom-client.ts';

/** Options of `useAgent`. */
export interface UseAgentOptions extends SessionKey, AgentChatOptions {
  /** The client of the server. The chat of a session keeps the client of its first rendering, so it may be created in the component. */
  readonly client: EventloomClient;
}

/** The result of `useAgent`: a snapshot of the chat, and the actions of the person. */
export interface UseAgentResult extends Pick<ChatSnapshot, 'status' | 'error' | 'failed' | 'answering'> {
  /** The whole conversation, of which `messages`, `requests` and `state` are parts. */
  readonly conversation: Conversation;
  /** The messages, oldest first. A message that did not change is the same object as before, so `memo` works. */
  readonly messages: readonly Message[];
  /** Requests to the person that are not answered yet, oldest first. */
  readonly requests: readonly PersonRequest[];
  /** The events that the conversation is computed from, oldest first and without chunks. */
  readonly events: ChatSnapshot['events'];
  /** The session's state. */
  readonly state: Readonly<Record<string, unknown>>;
  readonly activeAgent: string | undefined;
  readonly send: AgentChat['send'];
  readonly answer: AgentChat['answer'];
  readonly discard: AgentChat['discard'];
  readonly stop: AgentChat['stop'];
  readonly rewind: AgentChat['rewind'];
  readonly refresh: AgentChat['refresh'];
  /** The `AgentChat` that the hook uses. */
  readonly chat: AgentChat;
}

/**
 * A React hook for a chat with an agent. It reads the session when the component is mounted or the session changes, follows a run that is
 * in progress, and stops reading when the component is unmounted; the run continues on the server. When the page becomes visible again, it
 * reads what other pages did meanwhile. Chunks that arrive soon after each other are drawn together.
 *
 * @example
 * const client = new EventloomClient();
 *
 * function Chat() {
 *   const { messages, send, status } = useAgent({ client, appName: 'demo', userId: 'ann', sessionId: 'first' });
 *   return messages.map(({ id, parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''));
 * }
 */
export function useAgent({ appName, userId, sessionId, ...options }: UseAgentOptions): UseAgentResult {
  const newest = useRef(options);
  newest.current = options;
  const chat = useMemo(
    () =>
      new AgentChat(newest.current.client.session({ appName, userId, sessionId }), {
        run: newest.current.run ?? {},
        createSession: newest.current.createSession ?? false,
        onEvent: (event) => newest.current.onEvent?.(event),
      }),
    [appName, userId, sessionId],
  );
  const snapshot = useSyncExternalStore(
    useMemo(() => (listener: () => void) => subscribeWithPauses(chat, listener), [chat]),
    () => chat.snapshot,
    () => chat.snapshot,
  );
  useEffect(() => {
    void chat.load();
    const refresh = (): void => {
      if (document.visibilityState === 'visible') void chat.refresh();
    };
    // There is none in React Native.
    const page = typeof document === 'undefined' ? undefined : document;
    page?.addEventListener('visibilitychange', refresh);
    return () => {
      page?.removeEventListener('visibilitychange', refresh);
      chat.close();
    };
  }, [chat]);
  const actions = useMemo(
    () => ({
      send: chat.send.bind(chat),
      answer: chat.answer.bind(chat),
      discard: chat.discard.bind(chat),
      stop: chat.stop.bind(chat),
      rewind: chat.rewind.bind(chat),
      refresh: chat.refresh.bind(chat),
      chat,
    }),
    [chat],
  );
  const { conversation, ...others } = snapshot;
  const { messages, requests, state, activeAgent } = conversation;
  return { conversation, messages, requests, state, activeAgent, ...others, ...actions };
}

/** Minimum pause between two drawings of chunks, in milliseconds. */
const PAUSE_MS = 30;

/**
 * Calls a listener after each change, but after chunks only when as much time has passed as the last drawing took. Chunks may arrive faster
 * than a page can draw them, and it would then show nothing and react to nobody until the last one.
 *
 * @returns the function that ends this
 */
export function subscribeWithPauses(chat: AgentChat, listener: () => void): () => void {
  let drawn = chat.snapshot;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPausing = false;
  let isEnded = false;
  const endPause = (): void => {
    isPausing = false;
    if (chat.snapshot !== drawn) draw();
  };
  const draw = (): void => {
    isPausing = true;
    drawn = chat.snapshot;
    const beganMs = performance.now();
    listener();
    // React draws in a microtask that the listener has queued.
    queueMicrotask(() => {
      clearTimeout(timer);
      if (!isEnded) timer = setTimeout(endPause, Math.max(PAUSE_MS, performance.now() - beganMs));
    });
  };
  const unsubscribe = chat.subscribe(() => {
    const { status, events } = chat.snapshot;
    // Chunks change neither.
    if (!isPausing || status !== drawn.status || events !== drawn.events) draw();
  });
  return () => {
    isEnded = true;
    unsubscribe();
    clearTimeout(timer);
  };
}
