import { type BaseLlm, type Content, type Event, type LlmRequest, type Part, systemPlatform } from '@eventloom/core';

/** A session of the floor: the data that handwritten code for one process keeps. */
export interface FloorSession {
  readonly id: string;
  readonly state: Record<string, unknown>;
  readonly events: Event[];
  readonly contents: Content[];
  lastUpdateTime: number;
}

/** The tools of the floor, by name. */
export type FloorTools = Readonly<Record<string, (args: Record<string, unknown>) => Promise<Record<string, unknown>>>>;

/** Called for every event to store. */
export type FloorStore = (event: Event) => void;

export function createFloorSession(id: string): FloorSession {
  return { id, state: {}, events: [], contents: [], lastUpdateTime: systemPlatform.now() / 1000 };
}

/**
 * The floor: a handwritten loop that does the same visible work as a turn (the same events with the same ids and times,
 * a history, state, tool calls, chunks), without generality: no callbacks, plugins, leases, other agents, errors or
 * aborts.
 */
export async function* floorTurn(
  session: FloorSession,
  model: BaseLlm,
  message: Content,
  options: { readonly stream?: boolean; readonly tools?: FloorTools; readonly store?: FloorStore } = {},
): AsyncGenerator<Event, void, undefined> {
  const invocationId = `e-${systemPlatform.newEventId()}`;
  const { tools = {}, store } = options;
  const commit = (event: Event): Event => {
    session.events.push(event);
    session.lastUpdateTime = event.timestamp;
    for (const key in event.actions.stateDelta) session.state[key] = event.actions.stateDelta[key];
    if (event.content) session.contents.push(event.content);
    store?.(event);
    return event;
  };
  commit(floorEvent(invocationId, 'user', structuredCopy(message)));
  for (;;) {
    const request: LlmRequest = {
      contents: session.contents.slice(),
      config: { systemInstruction: 'Be helpful.\n\nYou are an agent. Your internal name is "agent".' },
      toolsDict: {},
    };
    const startMs = systemPlatform.now();
    let calls: Part[] = [];
    for await (const response of model.generateContentAsync(request, options.stream)) {
      if (response.partial === true) {
        yield floorEvent(invocationId, 'agent', response.content as Content, true);
        continue;
      }
      calls = (response.content?.parts ?? []).filter((part) => part.functionCall);
      const timingInfo = { timeToFirstTokenMs: systemPlatform.now() - startMs };
      yield commit({
        ...floorEvent(invocationId, 'agent', response.content as Content),
        usageMetadata: { timingInfo },
      });
    }
    if (calls.length === 0) return;
    const parts = await Promise.all(
      calls.map(async ({ functionCall }): Promise<Part> => {
        const response = await tools[functionCall?.name ?? '']?.(functionCall?.args ?? {});
        return {
          functionResponse: { id: functionCall?.id ?? '', name: functionCall?.name ?? '', response: response ?? {} },
        };
      }),
    );
    yield commit(floorEvent(invocationId, 'agent', { role: 'user', parts }));
  }
}

function floorEvent(invocationId: string, author: string, content: Content, partial?: boolean): Event {
  return {
    id: systemPlatform.newEventId(),
    invocationId,
    author,
    timestamp: systemPlatform.now() / 1000,
    executionId: invocationId,
    content,
    actions: { stateDelta: {}, artifactDelta: {} },
    ...(partial === undefined ? {} : { partial }),
  };
}

/** Copies the message, because the caller may modify it. */
function structuredCopy(message: Content): Content {
  return { ...message, parts: (message.parts ?? []).map((part) => ({ ...part })) };
}
