import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { Event, FunctionCall, FunctionResponse } from '@eventloom/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Button, Input, TextField } from 'react-aria-components';
import { preciseClockOf } from './clock.ts';
import { CopyButton } from './copy-button.tsx';
import { JsonView } from './json-view.tsx';
import { isStop } from './message-view.tsx';
import { artifactsIn, type SavedArtifact } from './saved-artifacts.tsx';
import { isRecord } from './schema-reader.ts';
import { undoneEvents } from './undone-events.ts';

interface EventsTabProps {
  /** All events of the session. */
  readonly events: readonly Event[];
  /** Number of events up to the shown moment. Later events are pale. */
  readonly count: number;
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onShowAt: (position: number) => void;
  readonly onShowArtifact: (artifact: SavedArtifact) => void;
}

/** The kinds of events that can be shown alone, with their names. `progress`: events that only record the progress of a run. */
const KINDS = {
  all: 'All events',
  'without progress': 'Without progress',
  text: 'Texts',
  calls: 'Calls',
  state: 'State changes',
  progress: 'Only progress',
  errors: 'Errors',
} as const;
type Kind = keyof typeof KINDS;

function isKind(name: string): name is Kind {
  return name in KINDS;
}

function isOfKind(kinds: ReadonlySet<Kind>, kind: Kind): boolean {
  return kind === 'all' || (kind === 'without progress' ? !kinds.has('progress') : kinds.has(kind));
}

/** The height of a row in pixels. */
const ROW = 50;

/** Shows the events with filters, and the selected one as JSON. */
export const EventsTab = memo(function EventsTab({
  events,
  count,
  selectedId,
  onSelect,
  onShowAt,
  onShowArtifact,
}: EventsTabProps) {
  const [kind, setKind] = useState<Kind>('all');
  const [search, setSearch] = useState('');
  const word = useDeferredValue(search.trim().toLowerCase());
  const rows = useMemo(
    () =>
      events.flatMap((event, index) => {
        const { kinds, text } = described(event);
        return isOfKind(kinds, kind) && (word === '' || text().includes(word)) ? [{ event, index }] : [];
      }),
    [events, kind, word],
  );
  const undone = useMemo(() => undoneEvents(events), [events]);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const selectedRow = selectedId === undefined ? -1 : rows.findIndex(({ event }) => event.id === selectedId);
  const shownRow = count < events.length ? rows.findLastIndex(({ index }) => index < count) : -1;
  /** False once the reader has scrolled up. */
  const isFollowing = useRef(true);
  // On a narrow screen the list is hidden at first, and nothing hidden can be scrolled.
  const isVisible = (list.scrollRect?.height ?? 0) > 0;
  useEffect(() => {
    if (selectedRow >= 0) list.scrollToIndex(selectedRow);
    else if (shownRow < 0 && isFollowing.current && rows.length > 0) list.scrollToIndex(rows.length - 1);
  }, [list, selectedRow, shownRow, rows.length, isVisible]);
  // Also while another event is selected.
  useEffect(() => {
    if (shownRow >= 0) list.scrollToIndex(shownRow);
  }, [list, shownRow, isVisible]);
  const selected = events.findIndex(({ id }) => id === selectedId);
  const event = events[selected];
  /** The row that the keyboard reaches with Tab; the arrow keys lead to the others. */
  const [reached, setReached] = useState(-1);
  const drawn = list.getVirtualItems();
  const stop = [reached, selectedRow].find((row) => drawn.some(({ index }) => index === row)) ?? drawn.at(-1)?.index;
  return (
    <div className="events">
      <div className="row">
        <label className="visually-hidden" htmlFor="event-kind">
          Kind of events
        </label>
        <select
          id="event-kind"
          value={kind}
          onChange={({ target }) => setKind(isKind(target.value) ? target.value : 'all')}
        >
          {Object.entries(KINDS).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <TextField className="grow" aria-label="Search events" value={search} onChange={setSearch}>
          <Input placeholder="Search events" />
        </TextField>
      </div>
      {events.length === 0 && (
        <p className="empty">No events yet. The messages, calls, results and changes of each run appear here.</p>
      )}
      {events.length > 0 && rows.length === 0 && (
        <p className="empty">
          No event{kind === 'all' ? '' : ` of the kind “${KINDS[kind]}”`}
          {word === '' ? '' : ` has “${search.trim()}”`}.
        </p>
      )}
      <div
        className="event-list"
        ref={scroller}
        tabIndex={0}
        role="group"
        aria-label="Events"
        onScroll={({ currentTarget: box }) => {
          isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < ROW;
        }}
      >
        <ol style={{ height: list.getTotalSize() }}>
          {drawn.map(({ index, start, size }) => {
            const row = rows[index];
            if (!row) return null;
            const { kinds, summary, type } = described(row.event);
            const isUndone = undone.has(row.index);
            return (
              <li key={row.event.id} style={{ height: size, transform: `translateY(${start}px)` }}>
                <button
                  type="button"
                  aria-pressed={row.event.id === selectedId}
                  data-later={row.index >= count}
                  data-undone={isUndone}
                  data-progress={kinds.has('progress')}
                  data-row={index}
                  tabIndex={index === stop ? 0 : -1}
                  onFocus={() => setReached(index)}
                  onKeyDown={(event) => {
                    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
                    const next = scroller.current?.querySelector<HTMLElement>(`[data-row="${index + step}"]`);
                    if (step === 0 || !next) return;
                    event.preventDefault();
                    next.focus();
                  }}
                  onClick={() => onSelect(row.event.id)}
                >
                  <span className="event-number">{row.index + 1}</span>
                  <span className="event-author">{row.event.author}</span>
                  <span className="event-type" data-type={type}>
                    {type}
                    {isUndone && ', undone'}
                  </span>
                  <time dateTime={new Date(row.event.timestamp * 1000).toISOString()}>
                    {preciseClockOf(row.event.timestamp)}
                  </time>
                  <span className="event-summary" dir="auto">
                    {summary}
                  </span>
                </button>
              </li>
            );
          })}
        </ol>
      </div>
      {event && (
        <section className="event-detail" aria-label="Event">
          <div className="row">
            <b>Event {selected + 1}</b>
            <Button className="quiet" onPress={() => onShowAt(selected + 1)}>
              Show this moment
            </Button>
            {artifactsIn(event).map((artifact) => (
              <Button className="quiet" key={artifact.name} onPress={() => onShowArtifact(artifact)}>
                {artifact.name}
              </Button>
            ))}
            <CopyButton className="quiet" textOf={() => JSON.stringify(event, undefined, 2)} />
            <Button className="quiet" onPress={() => onSelect(undefined)}>
              Close
            </Button>
          </div>
          <JsonView value={event} />
        </section>
      )}
    </div>
  );
});

interface Description {
  readonly kinds: ReadonlySet<Kind>;
  readonly type: string;
  readonly summary: string;
  /** Returns the searched text, which is the whole event. */
  readonly text: () => string;
}

/** Cached descriptions of events, because the same events are listed repeatedly while the slider moves and a run adds others. */
const descriptions = new WeakMap<Event, Description>();

function described(event: Event): Description {
  const known = descriptions.get(event);
  if (known) return known;
  let searched: string | undefined;
  const made = {
    kinds: kindsOf(event),
    type: typeOf(event),
    summary: summaryOf(event),
    text: () => (searched ??= searchedText(event)),
  };
  descriptions.set(event, made);
  return made;
}

/** Maximum length of an event's text that is searched, in characters, because a file in it may have millions. */
const MAX_SEARCHED = 100_000;

function searchedText(event: Event): string {
  const { content, ...others } = event;
  const texts = (content?.parts ?? []).map(({ text, inlineData, ...part }) =>
    // JSON would hide line ends and quotes of a text.
    [text ?? '', inlineData?.displayName ?? '', inlineData?.mimeType ?? '', JSON.stringify(part)].join(' '),
  );
  return `${event.author} ${texts.join(' ')} ${JSON.stringify(others)}`.slice(0, MAX_SEARCHED).toLowerCase();
}

/** Returns the kind of an event in one or two words. */
function typeOf(event: Event): string {
  const { actions, content, errorCode, author, object, inputTranscription, outputTranscription } = event;
  if (errorCode !== undefined) return isStop(errorCode) ? 'stopped' : 'error';
  const parts = content?.parts ?? [];
  const called = parts.flatMap(({ functionCall }) => functionCall ?? []);
  if (called.length > 0) return called.every((each) => questionOf(each) !== undefined) ? 'question' : 'call';
  if (parts.some(({ functionResponse }) => functionResponse)) return author === 'user' ? 'answer' : 'result';
  if (actions.transferToAgent !== undefined) return 'transfer';
  if (inputTranscription ?? outputTranscription) return 'speech';
  if (parts.some(({ text, inlineData, fileData }) => (text ?? inlineData ?? fileData) !== undefined))
    return parts.every(({ thought }) => thought === true) ? 'thought' : 'message';
  if (actions.rewindBeforeInvocationId !== undefined) return 'rewind';
  if (Object.keys(actions.stateDelta).length > 0 || actions.removedState?.length) return 'state';
  return object === undefined ? 'progress' : (object.split('.').at(-1) ?? object);
}

function kindsOf(event: Event): ReadonlySet<Kind> {
  const kinds = new Set<Kind>();
  const { actions, content, errorCode, inputTranscription, outputTranscription } = event;
  if (inputTranscription?.text || outputTranscription?.text) kinds.add('text');
  for (const { text, functionCall, functionResponse } of content?.parts ?? []) {
    if (text) kinds.add('text');
    if (functionCall ?? functionResponse) kinds.add('calls');
  }
  if (Object.keys(actions.stateDelta).length > 0 || actions.removedState?.length) kinds.add('state');
  if (errorCode !== undefined) kinds.add('errors');
  if (kinds.size === 0) kinds.add('progress');
  return kinds;
}

/** Returns one line about a question to a person; undefined for other calls. */
function questionOf({ name, args = {} }: FunctionCall): string | undefined {
  const { originalFunctionCall: original, message } = args;
  if (name === 'adk_request_credential') return '? asks for a credential';
  if (name === 'adk_request_input') return `? ${typeof message === 'string' ? message : 'asks for an input'}`;
  if (name !== 'adk_request_confirmation' || !isRecord(original)) return undefined;
  return `? asks to approve ${String(original['name'])}(${JSON.stringify(original['args'] ?? {})})`;
}

/** Returns one line about the answer of a person; undefined for other responses. */
function answerOf({ name, response = {} }: FunctionResponse): string | undefined {
  if (name === 'adk_request_credential') return '! gave a credential';
  if (name === 'adk_request_input') return `! ${JSON.stringify(response['result'] ?? response)}`;
  if (name !== 'adk_request_confirmation' || typeof response['confirmed'] !== 'boolean') return undefined;
  return response['confirmed'] ? '! approved' : '! rejected';
}

/** Returns what a call waits for; undefined for a result. The first response of a call that asks a person only says so. */
function awaitedOf({ id = '' }: FunctionResponse, { actions }: Event): string | undefined {
  if (actions.requestedToolConfirmations?.[id]) return 'waits for an approval';
  if (actions.requestedAuthConfigs?.[id] !== undefined) return 'waits for a credential';
  return actions.requestedInputs?.[id] ? 'waits for an input' : undefined;
}

/** Returns one line about an event. */
function summaryOf(event: Event): string {
  const { actions, author, content, errorCode, errorMessage, object } = event;
  if (errorCode !== undefined) return `${errorCode}: ${errorMessage ?? ''}`;
  const parts = (content?.parts ?? []).map(({ text, thought, functionCall, functionResponse, inlineData }) => {
    if (functionCall)
      return questionOf(functionCall) ?? `→ ${functionCall.name ?? ''}(${JSON.stringify(functionCall.args ?? {})})`;
    if (functionResponse)
      return (
        answerOf(functionResponse) ??
        `← ${functionResponse.name ?? ''} ${awaitedOf(functionResponse, event) ?? JSON.stringify(functionResponse.response ?? {})}`
      );
    if (inlineData) return `[${inlineData.mimeType ?? 'file'}]`;
    return thought ? `(${text ?? ''})` : (text ?? '');
  });
  const effects = [
    ...Object.entries(actions.stateDelta).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
    ...Object.keys(actions.artifactDelta).map((name) => `saved ${name}`),
    ...(actions.transferToAgent === undefined ? [] : [`transfer to ${actions.transferToAgent}`]),
    ...(actions.escalate ? ['escalate'] : []),
    ...(actions.rewindBeforeInvocationId === undefined ? [] : ['rewind']),
    ...(actions.compaction === undefined ? [] : ['compaction']),
    ...(actions.agentState === undefined || author === 'user' ? [] : ['progress of the agent']),
    ...(event.interrupted ? ['interrupted by the person'] : []),
    ...(actions.endOfAgent ? [object === 'runner.end' ? 'end of run' : 'end of agent'] : []),
  ];
  const spoken = [event.inputTranscription, event.outputTranscription].flatMap((each) => each?.text || []);
  return (
    [...parts, ...spoken, ...effects].join(' ').slice(0, 300) ||
    (event.turnComplete ? 'end of the turn' : (object ?? 'no content'))
  );
}
