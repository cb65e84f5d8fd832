import { createElement, type ReactNode } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { startServer } from '../fixtures/test-server.ts';
import { useAgent } from './index.ts';

test('a chat is rendered on a server without reading the session', () => {
  const { client, requests } = startServer([]);
  function Chat(): ReactNode {
    const { messages, status } = useAgent({ client, appName: 'app', userId: 'ann', sessionId: 'first' });
    return `${messages.length} messages, ${status}`;
  }
  expect(renderToString(createElement(Chat))).toBe('0 messages, idle');
  expect(requests).toEqual([]);
});
