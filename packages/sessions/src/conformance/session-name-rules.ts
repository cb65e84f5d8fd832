import { InvalidRequestError } from '@eventloom/core';
import { exportAll, recordsOf } from './records.ts';
import type { SessionRule } from './session-rule.ts';
import { idsOf, KEY, sampleEvent, stateEvent } from './samples.ts';

/** Names that every back end must refuse. */
const BAD_NAMES: Readonly<Record<string, string>> = {
  empty: '',
  'holding a NUL': 'a\0b',
  'of 257 bytes': 'a'.repeat(257),
  'of 258 bytes in 86 characters': '€'.repeat(86),
  'with half a surrogate pair': 'a\ud800b',
};

/** Unusual names that are valid. */
const ODD_NAMES: readonly string[] = [
  'a'.repeat(256),
  '€'.repeat(85),
  '__proto__',
  'constructor',
  "Robert'); DROP TABLE sessions; --",
  '%',
  '_',
  '../../etc',
  'a/b:c|d\\e"f',
  ' ',
  '名前 ✅ 👩‍👩‍👧',
  'é',
  'e\u0301',
  'Name',
  'name',
];

/** Rules about the names of sessions: the allowed names, and the distinction of different names. */
export const sessionNameRules: readonly SessionRule[] = [
  {
    id: 'session.users-and-apps-apart',
    title: 'Sessions with the same id of another user or app are different sessions.',
    async check({ service, expect }) {
      const keys = [
        { appName: 'a', userId: 'b/c', sessionId: 'd' },
        { appName: 'a/b', userId: 'c', sessionId: 'd' },
        { appName: 'a', userId: 'b', sessionId: 'c/d' },
        { appName: 'a', userId: 'c', sessionId: 'd' },
        { appName: 'b', userId: 'c', sessionId: 'd' },
      ];
      for (const [index, key] of keys.entries()) {
        const session = await service.createSession({ ...key, state: { index } });
        await service.appendEvent({ session, event: sampleEvent(`event ${index}`) });
      }
      for (const [index, key] of keys.entries()) {
        const session = expect.present('the session', await service.getSession(key));
        expect.same('its state', session.state, { index });
        expect.same('its events', idsOf(session), [`event ${index}`]);
      }
    },
  },
  {
    id: 'session.odd-names',
    title: 'Any well-formed text of up to 256 bytes without NUL is a name, and different texts are different names.',
    async check({ service, expect }) {
      for (const name of ODD_NAMES) {
        const session = await service.createSession({ appName: name, userId: name, sessionId: name, state: { name } });
        await service.appendEvent({ session, event: stateEvent('event', { 'user:name': name, 'app:name': name }) });
      }
      for (const name of ODD_NAMES) {
        const key = { appName: name, userId: name, sessionId: name };
        const session = expect.present(`the session ${name}`, await service.getSession(key));
        expect.same('its names', [session.id, session.appName, session.userId], [name, name, name]);
        expect.same('its state', session.state, { name, 'user:name': name, 'app:name': name });
        const { sessions } = await service.listSessions({ appName: name });
        expect.same(
          'the sessions of its app',
          sessions.map(({ id }) => id),
          [name],
        );
      }
    },
  },
  {
    id: 'session.bad-names-refused',
    title:
      'A name that is empty, longer than 256 bytes, malformed or contains NUL is InvalidRequestError with the name of the field.',
    async check({ service, expect }) {
      for (const [what, bad] of Object.entries(BAD_NAMES)) {
        for (const field of ['appName', 'userId', 'sessionId'] as const) {
          const key = { ...KEY, [field]: bad };
          const calls: Readonly<Record<string, () => Promise<unknown>>> = {
            createSession: () => service.createSession(key),
            getSession: () => service.getSession(key),
            deleteSession: () => service.deleteSession(key),
            acquireLease: () => service.acquireLease(key),
            listToolCalls: () => service.listToolCalls({ ...key, invocationId: 'e-1' }),
            listEvents: () => service.listEvents(key),
            exportSession: () => exportAll(service, key),
            importSession: () => service.importSession({ records: recordsOf({}), ...key }),
            ...(field === 'sessionId' ? {} : { listSessions: () => service.listSessions(key) }),
          };
          for (const [method, call] of Object.entries(calls)) {
            const error = await expect.rejects(`${method} with a ${field} ${what}`, call(), InvalidRequestError);
            expect.true(`the message of ${method} names ${field}`, error.message.includes(field));
          }
        }
      }
    },
  },
];
