import { Gate } from '@eventloom/testing';
import { createElement, type ReactElement, type ReactNode, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { act, create, type ReactTestRenderer } from 'react-test-renderer';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentChat } from '../chat/agent-chat.ts';
import { startServer, type TestServer } from '../fixtures/test-server.ts';
import { useAgent, type UseAgentResult } from './index.ts';
import { subscribeWithPauses } from './use-agent.ts';

/** Shows the texts, and gives the newest result of the hook to the test. */
function Chat({ client, sessionId, onRender }: ChatProps): ReactNode {
  const agent = useAgent({ client, appName: 'app', userId: 'ann', sessionId });
  onRender(agent);
  const texts = agent.messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')));
  return `${agent.status}: ${texts.join(' | ')}`;
}

interface ChatProps {
  readonly client: TestServer['client'];
  readonly sessionId: string;
  readonly onRender: (agent: UseAgentResult) => void;
}

test('a chat is rendered on a server without reading the session', () => {
  const { client, requests } = startServer([]);
  const onRender = vi.fn<ChatProps['onRender']>();
  expect(renderToString(createElement(Chat, { client, sessionId: 'first', onRender }))).toBe('idle: ');
  expect(onRender).toHaveBeenCalledOnce();
  expect(requests).toEqual([]);
});

describe('a chat in a page', () => {
  let renderer: ReactTestRenderer | undefined;
  let newest: UseAgentResult;
  const elementOf = ({ client }: TestServer, sessionId = 'first'): ReactElement =>
    createElement(
      StrictMode,
      null,
      createElement(Chat, { client, sessionId, onRender: (agent: UseAgentResult) => (newest = agent) }),
    );
  const open = async (server: TestServer): Promise<void> => {
    act(() => {
      renderer = create(elementOf(server));
    });
    // The session does not exist: the answer to the one question is awaited.
    await act(() => expect.poll(() => server.requests.length).toBeGreaterThan(0));
    await act(() => expect.poll(() => newest.status).toBe('idle'));
  };
  const shown = (): unknown => renderer?.toJSON();

  beforeEach(() => {
    vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  });
  afterEach(() => {
    act(() => renderer?.unmount());
    vi.unstubAllGlobals();
  });

  test('shows a message at once and the reply when it came, with actions that stay the same functions', async () => {
    const server = startServer([{ text: 'Blue.' }]);
    await open(server);
    const { send, stop, answer } = newest;
    await act(() => send('What color?'));
    expect(shown()).toBe('idle: What color? | Blue.');
    expect([newest.send, newest.stop, newest.answer]).toEqual([send, stop, answer]);
    expect(newest.send).toBe(send);
  });

  test('keeps the client of its first rendering, so that a client of each rendering causes no further requests', async () => {
    const server = startServer([{ text: 'Blue.' }]);
    const others = [startServer([]), startServer([])];
    await open(server);
    for (const other of others) act(() => renderer?.update(elementOf(other)));
    await act(() => newest.send('What color?'));
    expect(shown()).toBe('idle: What color? | Blue.');
    expect(others.map(({ requests }) => requests)).toEqual([[], []]);
  });

  test('reads the other session when the session changes', async () => {
    const server = startServer([{ text: 'Blue.' }]);
    await open(server);
    await act(() => newest.send('What color?'));
    act(() => renderer?.update(elementOf(server, 'second')));
    await act(() => expect.poll(() => server.requests.at(-1)).toContain('/sessions/second'));
    await act(() => expect.poll(() => newest.status).toBe('idle'));
    expect(shown()).toBe('idle: ');
  });

  test('stops reading when the component is unmounted, and the run continues', async () => {
    const gate = new Gate();
    const server = startServer([{ chunks: ['Blue', gate, ' sky.'] }]);
    await open(server);
    let sending: Promise<void> | undefined;
    await act(async () => {
      sending = newest.send('What color?');
      await gate.reached;
    });
    act(() => renderer?.unmount());
    gate.open();
    await sending;
    const newestParts = async () => (await server.session.get()).events.at(-1)?.content?.parts;
    await expect.poll(newestParts).toEqual([{ text: 'Blue sky.' }]);
  });

  test('reads what another page did when the page becomes visible again', async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
    vi.stubGlobal('document', page);
    const server = startServer([{ text: 'Blue.' }, { text: 'Red.' }]);
    await open(server);
    await act(() => newest.send('What color?'));
    await new AgentChat(server.session).send('And at night?');
    page.visibilityState = 'hidden';
    page.dispatchEvent(new Event('visibilitychange'));
    expect(shown()).toBe('idle: What color? | Blue.');
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    await act(() => expect.poll(() => newest.messages.length).toBe(4));
    expect(shown()).toBe('idle: What color? | Blue. | And at night? | Red.');
    act(() => renderer?.unmount());
    const before = server.requests.length;
    page.dispatchEvent(new Event('visibilitychange'));
    expect(server.requests).toHaveLength(before);
  });

  test('keeps the objects of messages that did not change', async () => {
    const server = startServer([{ text: 'Blue.' }, { text: 'Red.' }]);
    await open(server);
    await act(() => newest.send('What color?'));
    const before = newest.messages.at(-1);
    await act(() => newest.send('And at night?'));
    expect(newest.messages[1]).toBe(before);
    expect(newest.messages).toHaveLength(4);
  });
});

test('chunks that arrive together are drawn together, and the end of a run at once', async () => {
  const gate = new Gate();
  const chunks = Array.from({ length: 300 }, (_, index) => `${index} `);
  const chat = new AgentChat(startServer([{ chunks: [...chunks, gate, 'end'] }]).session);
  const drawn: string[] = [];
  const unsubscribe = subscribeWithPauses(chat, () => {
    const { status, conversation } = chat.snapshot;
    const texts = conversation.messages.at(-1)?.parts.map((part) => (part.type === 'text' ? part.text : ''));
    drawn.push(`${status}: ${texts?.join('')}`);
  });
  const sending = chat.send('Count');
  expect(drawn).toEqual(['running: undefined', 'running: Count']);
  await expect.poll(() => drawn.at(-1)).toBe(`running: ${chunks.join('')}`);
  expect(drawn.length).toBeLessThan(150);
  gate.open();
  await sending;
  expect(drawn.at(-1)).toBe(`idle: ${chunks.join('')}end`);
  unsubscribe();
});
