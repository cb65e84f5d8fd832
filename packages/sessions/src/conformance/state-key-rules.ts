import { type EventloomError, StateKeyError, StateValueError } from '@eventloom/core';
import type { SessionRule, Subject } from './session-rule.ts';
import { idsOf, KEY, readSession, stateEvent } from './samples.ts';

/** Unusual keys that are valid. */
const ODD_KEYS: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'a.b',
  'a b',
  ':',
  'other:key',
  'App:key',
  "'; DROP TABLE state; --",
  '%',
  '_',
  '0',
  '名前✅',
  'é',
  'e\u0301',
  'Key',
  'key',
  'k'.repeat(256),
  '€'.repeat(85),
];

const BAD_KEYS: Readonly<Record<string, string>> = {
  'an empty key': '',
  'an empty key of the app': 'app:',
  'an empty key of the user': 'user:',
  'an empty temp key': 'temp:',
  'a key with NUL': 'a\0b',
  'a key of 257 bytes': 'k'.repeat(257),
  'a key of 258 bytes in 86 characters': '€'.repeat(86),
  'a key with half a surrogate pair': 'a\ud800b',
};

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

const BAD_VALUES: Readonly<Record<string, unknown>> = {
  'a function': () => 1,
  'a symbol': Symbol('x'),
  'a bigint': 1n,
  NaN: Number.NaN,
  infinity: Infinity,
  'a Map': new Map(),
  'NaN in a list': [1, Number.NaN],
  'a Map deep inside': { a: [{ b: new Map() }] },
  'a cycle': cycle,
};

class Order {
  readonly id = 'A-7';
  readonly pages = [new URL('https://example.com/')];
}

/** Rules about keys and values of state: the allowed ones are returned unchanged, and others are refused. */
export const stateKeyRules: readonly SessionRule[] = [
  {
    id: 'state.odd-keys',
    title:
      'Any well-formed text of up to 256 bytes without NUL is a state key in every scope, including __proto__ and constructor.',
    async check(subject) {
      const { service, expect } = subject;
      const expected = new Map(
        ODD_KEYS.flatMap((key) =>
          ['', 'app:', 'user:']
            .filter((prefix) => prefix === '' || key.length < 80)
            .map((prefix) => [`${prefix}${key}`, `value of ${prefix}${key}`] as const),
        ),
      );
      const delta = Object.fromEntries(expected);
      const created = await service.createSession({ ...KEY, state: delta });
      sameEntries(subject, 'the created state', created.state, expected);
      const session = await service.createSession({ appName: 'second', userId: 'user', sessionId: 'session' });
      await service.appendEvent({ session, event: stateEvent('one', delta) });
      sameEntries(subject, 'the session object', session.state, expected);
      const read = await readSession(subject, { appName: 'second', userId: 'user', sessionId: 'session' });
      sameEntries(subject, 'the stored state', read.state, expected);
      await service.appendEvent({ session, event: stateEvent('two', {}, [...expected.keys()]) });
      sameEntries(subject, 'the session object without them', session.state, new Map());
      const emptied = await readSession(subject, { appName: 'second', userId: 'user', sessionId: 'session' });
      sameEntries(subject, 'the stored state without them', emptied.state, new Map());
      expect.same('the prototype of objects', Object.hasOwn(Object.prototype, 'value of __proto__'), false);
    },
  },
  {
    id: 'state.inherits-nothing',
    title: 'A key that was never set, such as constructor or __proto__, is undefined.',
    async check(subject) {
      const { service, expect } = subject;
      const created = await service.createSession(KEY);
      const read = await readSession(subject);
      const [listed] = (await service.listSessions(KEY)).sessions;
      for (const session of [created, read, listed]) {
        for (const key of ['constructor', 'toString', '__proto__']) {
          expect.same(key, session?.state[key], undefined);
          expect.same(`${key} in state`, key in expect.present('the state', session?.state), false);
        }
      }
    },
  },
  {
    id: 'state.bad-keys-refused',
    title:
      'A key that is empty, longer than 256 bytes, malformed or contains NUL is StateKeyError, and nothing is stored.',
    async check(subject) {
      for (const [what, key] of Object.entries(BAD_KEYS)) {
        await refuses(subject, what, { good: 1, [key]: 1 }, StateKeyError);
        const { service, expect } = subject;
        const session = await readSession(subject, { ...KEY, sessionId: what });
        const append = service.appendEvent({ session, event: stateEvent('removal', { good: 1 }, [key]) });
        await expect.rejects(`removing ${what}`, append, StateKeyError);
        expect.same('the state', (await readSession(subject, { ...KEY, sessionId: what })).state, {});
      }
    },
  },
  {
    id: 'state.bad-values-refused',
    title: 'A value that is not JSON is StateValueError, and nothing is stored.',
    async check(subject) {
      for (const [what, value] of Object.entries(BAD_VALUES)) {
        await refuses(subject, what, { good: 1, bad: value }, StateValueError);
        await refuses(subject, `${what} for the app`, { 'app:good': 1, 'app:bad': value }, StateValueError);
      }
    },
  },
  {
    id: 'state.instances-as-json',
    title: 'Dates, instances of classes and undefined in state are read back as JSON.stringify writes them.',
    async check(subject) {
      const { service, expect } = subject;
      const delta = { at: new Date(0), order: new Order() };
      const json = { at: '1970-01-01T00:00:00.000Z', order: { id: 'A-7', pages: ['https://example.com/'] } };
      const session = await service.createSession({ ...KEY, state: delta });
      expect.same('the state of the new session', (await readSession(subject)).state, json);
      await service.appendEvent({ session, event: stateEvent('one', { 'user:order': delta.order }) });
      expect.same('the state of the user', (await readSession(subject)).state['user:order'], json.order);
      const unset = { at: undefined, 'app:unset': undefined, list: [1, undefined], nested: { unset: undefined } };
      const event = await service.appendEvent({ session, event: stateEvent('two', unset) });
      expect.same('the keys of the delta', Object.keys(event.actions.stateDelta), ['list', 'nested']);
      const { state } = await readSession(subject);
      expect.same('the state', [state['at'], state['list'], state['nested']], [json.at, [1, null], {}]);
      expect.same('the keys of the session object', Object.keys(session.state).sort(), Object.keys(state).sort());
      const key = { ...KEY, sessionId: 'unset' };
      await service.createSession({ ...key, state: { ...unset, 'user:unset': undefined } });
      const keys = Object.keys((await readSession(subject, key)).state).sort();
      expect.same('the keys of a new session', keys, ['list', 'nested', 'user:order']);
    },
  },
  {
    id: 'state.values-kept',
    title:
      'JSON values of state are read back unchanged: nested, empty, Unicode, escapes, all digits of numbers; -0 becomes 0.',
    async check(subject) {
      const { service, expect } = subject;
      const state = {
        text: 'line\n"quoted" \\ \0 \u2028 \ud83d\ude00 名前',
        empty: ['', [], {}, [[]], { a: {} }],
        nested: { a: [{ b: [1, [2, { c: null }]] }], __proto__inside: true },
        numbers: [0, -1, 0.1, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, 1.7976931348623157e308, 1767323045.123456],
        booleans: [true, false],
        proto: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as unknown,
        deep: nest(150),
        'user:false': false,
        'app:zero': 0,
        none: '',
        'user:none': '',
        'app:none': '',
        half: 'a\ud800b',
        negative: { zero: -0 },
      };
      const session = await service.createSession({ ...KEY, state });
      expect.same('the created state', session.state, state);
      expect.same('the stored state', (await readSession(subject)).state, state);
      const other = await service.createSession({ ...KEY, appName: 'second' });
      await service.appendEvent({ session: other, event: stateEvent('one', state) });
      const read = await readSession(subject, { ...KEY, appName: 'second' });
      expect.same('the appended state', read.state, state);
      const zero = (read.state['negative'] as { readonly zero?: unknown }).zero;
      expect.true('-0 is stored as 0', Object.is(zero, 0));
      const shown = (other.state['negative'] as { readonly zero?: unknown }).zero;
      expect.true('-0 is shown as 0', Object.is(shown, 0));
      const proto = read.state['proto'];
      expect.true('__proto__ inside a value is data', Object.hasOwn(proto as object, '__proto__'));
    },
  },
];

/** Compares entry by entry, because an object literal cannot simply have the key __proto__. */
function sameEntries(
  { expect }: Subject,
  what: string,
  state: Readonly<Record<string, unknown>>,
  expected: ReadonlyMap<string, string>,
): void {
  expect.same(`the keys of ${what}`, Object.keys(state).sort(), [...expected.keys()].sort());
  for (const [key, value] of expected) expect.same(`${what} at ${key}`, state[key], value);
}

/** Expects that a creation and an append with this state are refused and store nothing. */
async function refuses(
  subject: Subject,
  what: string,
  state: Record<string, unknown>,
  error: typeof EventloomError,
): Promise<void> {
  const { service, expect } = subject;
  const key = { ...KEY, sessionId: what };
  await expect.rejects(`creating a session with ${what}`, service.createSession({ ...key, state }), error);
  expect.same('the session', await service.getSession(key), undefined);
  const session = await service.createSession(key);
  const append = service.appendEvent({ session, event: stateEvent('one', state) });
  await expect.rejects(`appending ${what}`, append, error);
  const stored = await readSession(subject, key);
  expect.same('the stored state and events', [stored.state, idsOf(stored)], [{}, []]);
  expect.same('the session object', [session.state, session.events], [{}, []]);
}

function nest(depth: number): unknown {
  return depth === 0 ? 'bottom' : { down: nest(depth - 1) };
}
