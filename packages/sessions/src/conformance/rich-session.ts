import type { BaseSessionService, EventParams, Session, SessionKey, ToolLedgerEntry } from '@eventloom/core';
import type { Subject } from './session-rule.ts';
import { sampleEvent, stateEvent } from './samples.ts';
import { timedEvent } from './window-samples.ts';

/** Returns values that storage easily loses. Each call returns new objects, so that tests do not share them. */
export function oddValues(): Record<string, unknown> {
  return {
    text: 'line\n"quoted" \\ \0 \u2028 \ud83d\ude00 名前',
    half: 'a\ud800b',
    empty: ['', [], {}, [[]], { a: {} }, null],
    numbers: [0, -1, 0.1, 1e21, 1e-7, 5e-324, Number.MAX_SAFE_INTEGER, 1.7976931348623157e308, 1767323045.123456],
    booleans: [true, false],
    proto: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "": 2}') as unknown,
    snake_case: { camelCase: 1, nothing: null },
  };
}

/** Returns state keys that are easily lost, with values of all kinds. */
function oddState(): Record<string, unknown> {
  const odd = JSON.parse('{"__proto__": {"own": [1]}, "constructor": 1}') as Record<string, unknown>;
  return { ...odd, ...oddValues(), 'a.b': null, '名前✅': '', 'e\u0301': 1, é: 2, 'other:key': 3 };
}

/** The invocations with tool calls in the session. */
const RICH_INVOCATIONS: readonly string[] = ['e-2', 'e-1', 'e-✅'];

/** Creates a session with data of every kind, and returns the session object of its writer. */
export async function writeRichSession(
  { service, platform }: Pick<Subject, 'service' | 'platform'>,
  key: SessionKey,
): Promise<Session> {
  const state = { ...oddState(), first: 1, removed: { later: true }, 'user:name': 'Ada', 'app:odd': oddValues() };
  const session = await service.createSession({ ...key, state });
  const lease = await service.acquireLease(key);
  platform.advance(1500);
  for (const [index, invocationId] of RICH_INVOCATIONS.entries()) {
    for (const entryId of ['z', 'a', 'c'.repeat(2048)]) {
      const call: ToolLedgerEntry = { invocationId, entryId, name: 'tool', status: 'started' };
      await service.recordToolCall(lease, call);
      const parts = [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }];
      const media = index > 0 ? { parts } : {};
      if (entryId === 'z')
        await service.recordToolCall(lease, { ...call, status: 'finished', response: oddValues(), ...media });
      const actions = { stateDelta: oddValues(), escalate: true };
      if (entryId === 'a' && index > 0) await service.recordToolCall(lease, { ...call, status: 'finished', actions });
    }
  }
  for (const params of richEvents()) {
    await service.appendEvent({ session, event: sampleEvent(params.id, params), lease });
    platform.advance(7);
  }
  await service.appendEvent({
    session,
    event: stateEvent('changes', { first: 2, 'app:more': [null] }, ['removed']),
    lease,
  });
  await service.appendEvent({ session, event: timedEvent('compaction', [1_767_323_045.5, 1_767_323_044]), lease });
  await service.appendEvent({ session, event: sampleEvent('last', { timestamp: 1_767_323_044.123456 }), lease });
  await service.releaseLease(lease);
  return session;
}

/** Returns all tool calls of a session that `writeRichSession` created, by invocation. */
export async function richToolCalls(service: BaseSessionService, key: SessionKey): Promise<ToolLedgerEntry[][]> {
  return Promise.all(RICH_INVOCATIONS.map(async (invocationId) => service.listToolCalls({ ...key, invocationId })));
}

function richEvents(): (EventParams & { readonly id: string })[] {
  return [
    { id: 'i'.repeat(256), author: 'user', timestamp: 1_767_323_045.000001, customMetadata: oddValues() },
    { id: '€'.repeat(85), timestamp: 1_767_323_043, branch: 'parent.child', tags: ['one', ''], partial: false },
    {
      id: '__proto__',
      timestamp: 1_767_323_043,
      content: { role: 'model', parts: [{ text: '' }, { text: 'a\ud800b' }] },
    },
    {
      id: 'Rewind',
      timestamp: 1_767_323_043,
      actions: {
        rewindBeforeInvocationId: 'e-1',
        artifactDelta: { 'user:file.txt': 3, 'a/b': 0 },
        agentState: oddValues(),
      },
    },
    { id: 'rewind', longRunningToolIds: ['z'], finishReason: 'STOP', actions: { stateDelta: oddState() } },
  ];
}
