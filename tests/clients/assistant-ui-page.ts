/// <reference lib="dom" />
// The page of the tests of useAdkRuntime: its messages, and a field and buttons that use the hooks of the package.

import { AssistantRuntimeProvider } from '@assistant-ui/core/react';
import {
  createAdkSessionAdapter,
  createAdkStream,
  useAdkArtifacts,
  useAdkConfirmTool,
  useAdkLongRunningToolIds,
  useAdkRuntime,
  useAdkSend,
  useAdkSessionState,
  useAdkSubmitInput,
  useAdkToolConfirmations,
} from '@assistant-ui/react-google-adk';
import { useAui, useAuiState } from '@assistant-ui/store';
import { createElement as h, type ReactElement, useState } from 'react';
import { createRoot } from 'react-dom/client';

const appName = new URLSearchParams(location.search).get('app') ?? '';
const userId = 'hook';
const { adapter, load } = createAdkSessionAdapter({ apiUrl: location.origin, appName, userId });
const stream = createAdkStream({ api: location.origin, appName, userId });

function Page(): ReactElement {
  const runtime = useAdkRuntime({ stream, load, sessionAdapter: adapter, unstable_allowCancellation: true });
  return h(AssistantRuntimeProvider, { runtime, children: h(Thread) });
}

function Thread(): ReactElement {
  const aui = useAui();
  const messages = useAuiState(({ thread }) => thread.messages);
  const isRunning = useAuiState(({ thread }) => thread.isRunning);
  const threads = useAuiState(({ threads }) => threads.threadItems);
  const state = useAdkSessionState();
  const artifacts = useAdkArtifacts();
  const open = useAdkLongRunningToolIds();
  const confirmations = useAdkToolConfirmations();
  const confirm = useAdkConfirmTool();
  const submit = useAdkSubmitInput();
  const send = useAdkSend();
  const [text, setText] = useState('');
  const button = (name: string, onClick: () => unknown): ReactElement =>
    h('button', { key: name, onClick: () => void onClick() }, name);
  const respond = (id: string): unknown =>
    send([{ id: 'late', type: 'tool', name: 'wait', tool_call_id: id, content: text, status: 'success' }], {});
  return h(
    'main',
    null,
    messages.map(({ id, role, content, status }) =>
      h('p', { key: id, title: role }, `${role}: ${content.map(shown).join(' ')} ${status?.type ?? ''}`),
    ),
    h('output', { title: 'state' }, JSON.stringify(state)),
    h('output', { title: 'artifacts' }, JSON.stringify(artifacts)),
    h('output', { title: 'running' }, String(isRunning)),
    h('input', { placeholder: 'Message', value: text, onChange: ({ target }) => setText(target.value) }),
    button('Send', () => aui.thread().append({ role: 'user', content: [{ type: 'text', text }] })),
    button('Cancel', () => aui.thread().cancelRun()),
    confirmations
      .filter(({ toolName }) => toolName !== '')
      .map(({ toolCallId }) => button('Confirm', () => confirm(toolCallId, true))),
    open.map((id) => button(`Answer ${id}`, () => submit(id, JSON.parse(text)))),
    open.map((id) => button(`Respond ${id}`, () => respond(id))),
    threads.map(({ id, remoteId }) => button(`Open ${remoteId}`, () => aui.threads().switchToThread(id))),
  );
}

function shown(part: object): string {
  if ('text' in part) return String(part.text);
  if (!('toolName' in part)) return '';
  return `${String(part.toolName)} ${JSON.stringify('result' in part ? part.result : null)}`;
}

const root = document.getElementById('root');
if (root) createRoot(root).render(h(Page));
