import {
  type BaseSessionService,
  type OpenRun,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  REQUEST_INPUT,
  SessionNotFoundError,
  systemPlatform,
} from '@eventloom/core';
import { Calls, isRecord, type SessionCall } from '@eventloom/core/internal';
import { type ProtocolRequest, RunNotFoundError } from '@eventloom/server';
import { beginningOf } from './search-sessions.ts';

/** The user of an app whose runs are listed. */
interface RunUser {
  readonly appName: string;
  readonly userId: string;
}

const RUN = {
  sessionId: { type: 'string' },
  invocationId: { type: 'string' },
  title: { type: 'string', description: 'The first message of the session.' },
};

export const OPEN_RUNS_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      ...RUN,
      isHeld: { type: 'boolean', description: 'True if a process works on the run now.' },
      resumable: { type: 'boolean' },
      attempts: { type: 'integer' },
      startedAt: { type: 'number', description: 'Time of the first event of the run, in seconds since the epoch.' },
    },
    required: ['sessionId', 'invocationId', 'isHeld', 'resumable', 'attempts'],
  },
};

export const WAITING_RUNS_SCHEMA = {
  type: 'object',
  properties: {
    runs: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          ...RUN,
          waitsSince: {
            type: 'number',
            description: 'Time of the oldest call that waits, in seconds since the epoch.',
          },
          waitingFor: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                kind: {
                  enum: ['confirmation', 'credential', 'input', 'call'],
                  description: '`call`: the result of a call.',
                },
                toolName: { type: 'string', description: 'Absent if an agent asks.' },
                message: { type: 'string', description: 'The text for the person.' },
              },
              required: ['kind'],
            },
          },
        },
        required: ['sessionId', 'invocationId', 'waitsSince', 'waitingFor'],
      },
    },
    nextCursor: { type: 'string', description: 'Absent on the last page.' },
  },
  required: ['runs'],
};

/** Maximum number of pages of open runs that are searched for the runs of one user: 10,000 runs. */
const MAX_PAGES = 10;

/** Maximum number of open runs that are described with the first message of their session, and of events that are read to find it. */
const MAX_DESCRIBED = 50;

/** Lists the runs of a user that have not ended: in progress, or left by a lost process. */
export async function listOpenRuns(service: BaseSessionService, { appName, userId }: RunUser): Promise<object[]> {
  const found: OpenRun[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { runs, nextCursor } = await service.listOpenRuns({ appName, cursor });
    found.push(...runs.filter((run) => run.userId === userId));
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  const listed = await Promise.all(
    found.map(async ({ sessionId, invocationId, heldUntilMs, resumable, attempts }, index) => {
      const run = { sessionId, invocationId, isHeld: heldUntilMs > systemPlatform.now(), resumable, attempts };
      if (index >= MAX_DESCRIBED) return run;
      return ifStored(async () => {
        const key = { appName, userId, sessionId };
        const { title } = await beginningOf(service, key);
        const { events } = await service.listEvents({ ...key, order: 'desc', limit: MAX_DESCRIBED });
        const startedAt = events.findLast((event) => event.invocationId === invocationId)?.timestamp;
        return { ...run, title, startedAt };
      });
    }),
  );
  return listed.filter((run) => run !== undefined);
}

/** Maximum number of sessions whose waiting runs are on a page, and of the newest events of each that are searched. */
const SESSIONS_PER_PAGE = 50;
const MAX_EVENTS = 200;

/**
 * Lists the runs of a user that wait for an answer, in a page of the user's sessions, latest first. Their records say
 * `completed`, so they are found by their calls. A page may be empty although more sessions follow.
 */
export async function listWaitingRuns(
  request: ProtocolRequest,
  { appName, userId }: RunUser,
  cursor: string | undefined,
): Promise<{ readonly runs: readonly object[]; readonly nextCursor?: string }> {
  const service = request.sessions(appName);
  const page = await service.listSessions({ appName, userId, limit: SESSIONS_PER_PAGE, cursor });
  const runs: object[] = [];
  // One session after the other: their events are not in memory at the same time.
  for (const { id: sessionId } of page.sessions) {
    const found = await ifStored(() => waitingRunsOf(request, service, { appName, userId, sessionId }));
    runs.push(...(found ?? []));
  }
  return { runs, ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }) };
}

async function waitingRunsOf(
  request: ProtocolRequest,
  service: BaseSessionService,
  key: RunUser & { readonly sessionId: string },
): Promise<object[]> {
  const { events } = await service.listEvents({ ...key, order: 'desc', limit: MAX_EVENTS });
  const { waiting: calls } = new Calls(events.toReversed());
  const runs: object[] = [];
  for (const [invocationId, made] of Map.groupBy(calls, ({ event }) => event.invocationId)) {
    // Earlier events and the end of the run count as well: it may have failed, or be in progress with the answer to another call.
    const { state, waitingFor = [] } = await request.runState({ ...key, invocationId });
    const waiting = made.filter(({ id }) => waitingFor.includes(id));
    const [first] = waiting;
    if (state !== 'waiting' || !first) continue;
    const { title } = await beginningOf(service, key);
    runs.push({
      sessionId: key.sessionId,
      invocationId,
      title,
      waitsSince: first.event.timestamp,
      waitingFor: waiting.map(describeCall),
    });
  }
  return runs;
}

const KINDS: Readonly<Record<string, string>> = {
  [REQUEST_CONFIRMATION]: 'confirmation',
  [REQUEST_CREDENTIAL]: 'credential',
  [REQUEST_INPUT]: 'input',
};

function describeCall({ call: { name = '', args = {} }, about }: SessionCall): object {
  const kind = KINDS[name];
  if (kind === undefined) return { kind: 'call', toolName: name };
  const confirmation = args['toolConfirmation'];
  const message = (isRecord(confirmation) ? confirmation['hint'] : undefined) ?? args['message'];
  return {
    kind,
    ...(about?.call.name !== undefined && { toolName: about.call.name }),
    ...(typeof message === 'string' && message !== '' && { message }),
  };
}

/** Returns undefined for a session that is deleted while it is read. */
async function ifStored<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (SessionNotFoundError.isInstance(error) || RunNotFoundError.isInstance(error)) return undefined;
    throw error;
  }
}
