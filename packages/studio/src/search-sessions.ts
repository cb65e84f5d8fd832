import type { BaseSessionService, Event, Session, SessionKey } from '@eventloom/core';

/** Maximum number of sessions on a page. */
const PAGE = 50;
/** Maximum number of events of a session that are searched, newest first. */
const MAX_EVENTS = 200;
/** Number of a session's oldest events that are searched for its first message, and of its newest events that are searched for a rewind. */
const FIRST_EVENTS = 40;
const NEWEST_EVENTS = 20;
/** Maximum length of a title and of the text around a match, in characters. */
const MAX_TITLE = 80;
/** Number of characters before a match, and of further ones back to the beginning of a word. */
const BEFORE = 12;

/** A session in the list. */
interface FoundSession {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly lastUpdateTime: number;
  /** The first message of the user. Absent if there is none. */
  readonly title?: string;
  /** Text around the match. Absent if the match is in the id, the title or the time. */
  readonly found?: string;
}

export const LISTED_SESSIONS_SCHEMA = {
  type: 'object',
  properties: {
    sessions: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          lastUpdateTime: { type: 'number', description: 'Seconds since the epoch.' },
          title: { type: 'string', description: 'The first message of the user.' },
          found: { type: 'string', description: 'Text around the searched word.' },
        },
        required: ['id', 'lastUpdateTime'],
      },
    },
    nextCursor: { type: 'string', description: 'Absent on the last page.' },
  },
  required: ['sessions'],
};

/**
 * Lists a page of the sessions of a user, latest first. With a word, lists only sessions with the word in their id, their day
 * (`2026-11-23`, in UTC) or their texts: messages, names of tools, arguments and results. A page may be empty although more sessions
 * follow.
 */
export async function searchSessions(
  service: BaseSessionService,
  user: { readonly appName: string; readonly userId: string },
  { search = '', cursor }: { readonly search?: string | undefined; readonly cursor?: string | undefined },
): Promise<{ readonly sessions: readonly FoundSession[]; readonly nextCursor?: string }> {
  const word = inLowerCase(search.trim());
  const { sessions, nextCursor } = await service.listSessions({ ...user, limit: PAGE, cursor });
  const listed = await Promise.all(sessions.map((session) => describe(service, session, word)));
  return {
    sessions: listed.filter((each) => each !== undefined),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

async function describe(
  service: BaseSessionService,
  { appName, userId, id, lastUpdateTime }: Session,
  word: string,
): Promise<FoundSession | undefined> {
  const key = { appName, userId, sessionId: id };
  const listed = { id, lastUpdateTime, ...(await beginningOf(service, key)) };
  const day = new Date(lastUpdateTime * 1000).toISOString().slice(0, 10);
  if ([id, day, listed.title ?? ''].some((text) => inLowerCase(text).includes(word))) return listed;
  const { events } = await service.listEvents({ ...key, order: 'desc', limit: MAX_EVENTS });
  for (const event of events) {
    const text = searchedText(event);
    const at = inLowerCase(text).indexOf(word);
    if (at >= 0) return { ...listed, found: textAround(text, at, at + word.length) };
  }
  return undefined;
}

/** Returns a text in lower case with the same positions: only the lower case of İ is longer. */
function inLowerCase(text: string): string {
  return text.replaceAll('İ', 'I').toLowerCase();
}

function textAround(text: string, at: number, end: number): string {
  const from = Math.max(0, at - BEFORE);
  const word = text.lastIndexOf(' ', from) + 1;
  const around = text.slice(from - word <= BEFORE ? word : from, Math.max(end, at + MAX_TITLE - BEFORE));
  // It may begin and end within a surrogate pair.
  return around.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '').trim();
}

/** Returns the first message of the user that was not rewound; an object without `title` if there is none. */
export async function beginningOf(service: BaseSessionService, key: SessionKey): Promise<{ readonly title?: string }> {
  const { events, nextCursor } = await service.listEvents({ ...key, limit: FIRST_EVENTS });
  const isTitle = (event: Event): boolean => event.author === 'user' && spokenText(event) !== '';
  const isWhole = nextCursor === undefined;
  const first = events.find(isTitle);
  if (!first) return {};
  const newest = isWhole ? [] : (await service.listEvents({ ...key, order: 'desc', limit: NEWEST_EVENTS })).events;
  // The events after the last rewind to before the first message, in their order.
  let rest: readonly Event[] = events;
  for (const list of [events, newest.toReversed()]) {
    const rewind = list.findLastIndex(({ actions }) => actions.rewindBeforeInvocationId === first.invocationId);
    if (rewind >= 0) rest = list.slice(rewind + 1);
  }
  const title = rest.find(isTitle) ?? first;
  return { title: spokenText(title).slice(0, MAX_TITLE) };
}

function spokenText({ content, inputTranscription, outputTranscription }: Event): string {
  const texts = (content?.parts ?? []).map(({ text, thought }) => (thought === true ? '' : (text ?? '')));
  return [...texts, inputTranscription?.text ?? '', outputTranscription?.text ?? ''].join(' ').trim();
}

function searchedText(event: Event): string {
  const calls = (event.content?.parts ?? []).map(({ functionCall, functionResponse }) => {
    if (functionCall) return `${functionCall.name ?? ''} ${JSON.stringify(functionCall.args ?? {})}`;
    return functionResponse ? `${functionResponse.name ?? ''} ${JSON.stringify(functionResponse.response ?? {})}` : '';
  });
  return [spokenText(event), ...calls, event.errorMessage ?? ''].filter((text) => text !== '').join(' ');
}
