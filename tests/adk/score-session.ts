import { LlmAgent } from '@eventloom/adk';
import { type Event, parseEvent, toStrictAdk } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';

type Json = Readonly<Record<string, unknown>>;

/** The checks that a recorded session passed, and the faults of the others. */
export interface Score {
  readonly passed: readonly string[];
  readonly faults: readonly string[];
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

/**
 * Reads a session that another ADK recorded, stores it event by event, exports it for readers of the ADK, and sends one
 * more message. A session in which a task agent waits for the user is continued by that agent.
 */
export async function scoreSession(recorded: readonly Json[]): Promise<Score> {
  const passed: string[] = [];
  const faults: string[] = [];
  const note = (check: string, fault: string | undefined): void => {
    if (fault === undefined) passed.push(check);
    else faults.push(`${check}: ${fault}`);
  };
  const sessionService = new InMemorySessionService();
  let events: Event[] = [];
  try {
    const session = await sessionService.createSession(KEY);
    events = withPlaces(recorded).map((event) => parseEvent(event));
    for (const event of events) await sessionService.appendEvent({ session, event });
    note('read', undefined);
  } catch (error) {
    note('read', String(error));
    return { passed, faults };
  }
  const stored = (await sessionService.getSession(KEY))?.events ?? [];
  const lost = withPlaces(recorded).flatMap((event, at) => lostFields(event, strictOf(stored[at]), `events[${at}]`));
  note('exported unchanged', lost.length === 0 ? undefined : lost.join(', '));
  const task = openTask(events);
  const check = task ? 'continued by its task agent' : 'continued';
  try {
    note(check, await continueSession(events, sessionService, task));
  } catch (error) {
    note(check, String(error));
  }
  return { passed, faults };
}

/** Adds missing ids and timestamps, which recorders may omit. */
function withPlaces(recorded: readonly Json[]): Json[] {
  let invocationId = 'i-0';
  return recorded.map((event, at) => {
    if (event['author'] === 'user' && !event['invocationId']) invocationId = `i-${at}`;
    return { id: `r-${at}`, timestamp: at + 1, ...event, invocationId: event['invocationId'] || invocationId };
  });
}

function strictOf(event: Event | undefined): unknown {
  return event && JSON.parse(JSON.stringify(toStrictAdk(event)));
}

/** Returns the paths of recorded values that the export lacks. Empty values may be absent. */
function lostFields(recorded: unknown, exported: unknown, path: string): string[] {
  if (isEmpty(recorded)) return [];
  if (Array.isArray(recorded) && Array.isArray(exported))
    return recorded.flatMap((item, at) => lostFields(item, exported[at], `${path}[${at}]`));
  if (isRecord(recorded) && isRecord(exported))
    return Object.entries(recorded).flatMap(([key, value]) =>
      lostFields(value, exported[camel(key)] ?? exported[key], `${path}.${key}`),
    );
  return JSON.stringify(recorded) === JSON.stringify(exported) ? [] : [path];
}

function camel(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}

/** An agent that was called as a task and has not finished: its scope is the call's id. */
interface OpenTask {
  readonly caller: string;
  readonly agent: string;
  readonly scope: string;
  /** The index of the event with the call. */
  readonly at: number;
}

function openTask(events: readonly Event[]): OpenTask | undefined {
  const parts = events.flatMap(({ author, content }, at) =>
    (content?.parts ?? []).map((part) => ({ author, at, ...part })),
  );
  const answered = new Set(parts.map(({ functionResponse }) => functionResponse?.id));
  const last = events.findLast(({ author }) => author !== 'user');
  const call = parts.find(
    ({ functionCall }) => functionCall?.id !== undefined && functionCall.id === last?.isolationScope,
  );
  const scope = call?.functionCall?.id;
  const agent = call?.functionCall?.name;
  if (!call || scope === undefined || agent === undefined || answered.has(scope)) return undefined;
  return agent === last?.author ? { caller: call.author, agent, scope, at: call.at } : undefined;
}

/** Sends one more message to agents with the names of the recorded ones, and returns the fault of the request to the model. */
async function continueSession(
  events: readonly Event[],
  sessionService: InMemorySessionService,
  task: OpenTask | undefined,
): Promise<string | undefined> {
  const model = new ScriptedModel(['Continued.']);
  const other = new ScriptedModel(['Not me.']);
  const speaker = events.find(
    ({ author, isolationScope }) => author !== 'user' && isolationScope === undefined,
  )?.author;
  const agent = task
    ? new LlmAgent({
        name: task.caller,
        model: other,
        subAgents: [new LlmAgent({ name: task.agent, model, mode: 'task', description: 'Does a task.' })],
      })
    : new LlmAgent({ name: speaker ?? 'agent', model });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'And now?' }] } });
  const request = model.requests[0]?.request;
  if (!request) return 'another agent answered';
  const parts = request.contents.flatMap(({ parts: each = [] }) => each);
  const sent = JSON.stringify(parts);
  const isSent = (text: string): boolean => sent.includes(JSON.stringify(text).slice(1, -1));
  const whole = events.filter(({ partial }) => partial !== true);
  const own = task
    ? whole.slice(task.at).filter(({ isolationScope, author }) => isolationScope === task.scope || author === 'user')
    : whole.filter(({ isolationScope, branch }) => isolationScope === undefined && branch === undefined);
  const missing = own.flatMap(textsOf).find((text) => !isSent(text));
  if (missing !== undefined) return `the model does not read ${JSON.stringify(missing.slice(0, 60))}`;
  const open = new Set(own.flatMap(textsOf));
  const leaked = whole
    .filter(({ isolationScope }) => isolationScope !== undefined && isolationScope !== task?.scope)
    .flatMap(textsOf)
    .find((text) => !open.has(text) && isSent(text));
  if (leaked !== undefined) return `the model reads ${JSON.stringify(leaked.slice(0, 60))} of another scope`;
  const calls = parts.filter(({ functionCall }) => functionCall).length;
  const responses = parts.filter(({ functionResponse }) => functionResponse).length;
  return responses > calls ? `${responses} responses of ${calls} calls` : undefined;
}

function textsOf({ content }: Event): string[] {
  return content?.parts?.flatMap(({ text, thought }) => (text && !thought ? [text] : [])) ?? [];
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
