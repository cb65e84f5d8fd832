import { useDeferredValue, useMemo, useRef, useState } from 'react';
import type { Event } from '@eventloom/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Button, Input, TextField } from 'react-aria-components';
import { JsonView } from './json-view.tsx';

interface EventsTabProps {
  readonly events: readonly Event[];
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onShowAt: (position: number) => void;
}

const KINDS = ['all', 'text', 'calls', 'state', 'control', 'errors'] as const;
type Kind = (typeof KINDS)[number];

/** Shows the events with filters, and the selected one as JSON. */
export function EventsTab({ events, selectedId, onSelect, onShowAt }: EventsTabProps) {
  const [kind, setKind] = useState<Kind>('all');
  const [search, setSearch] = useState('');
  const word = useDeferredValue(search.toLowerCase());
  const rows = useMemo(
    () =>
      events.flatMap((event, index) => {
        const { kinds, text } = described(event);
        return text.includes(word) && (kind === 'all' || kinds.has(kind)) ? [{ event, index }] : [];
      }),
    [events, kind, word],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 44,
    overscan: 10,
  });
  const selected = events.findIndex(({ id }) => id === selectedId);
  const event = events[selected];
  return (
    <div className="events">
      <div className="row">
        <label className="visually-hidden" htmlFor="event-kind">
          Kind of events
        </label>
        <select
          id="event-kind"
          value={kind}
          onChange={({ target }) => setKind(KINDS.find((each) => each === target.value) ?? 'all')}
        >
          {KINDS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <TextField className="grow" aria-label="Search events" value={search} onChange={setSearch}>
          <Input placeholder={'Search events'} />
        </TextField>
      </div>
      {events.length === 0 && <p className="empty">No events yet.</p>}
      <div className="event-list" ref={scroller} tabIndex={0} role="group" aria-label="Events">
        <ol style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index, start, size }) => {
            const row = rows[index];
            if (!row) return null;
            return (
              <li key={row.event.id} style={{ height: size, transform: `translateY(${start}px)` }}>
                <button type="button" aria-pressed={row.event.id === selectedId} onClick={() => onSelect(row.event.id)}>
                  <span className="event-number">{row.index + 1}</span>
                  <span className="event-author">{row.event.author}</span>
                  <span className="event-summary">{described(row.event).summary}</span>
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
            <Button
              className="quiet"
              onPress={() => void navigator.clipboard.writeText(JSON.stringify(event, undefined, 2))}
            >
              Copy
            </Button>
            <Button className="quiet" onPress={() => onSelect(undefined)}>
              Close
            </Button>
          </div>
          <JsonView value={event} />
        </section>
      )}
    </div>
  );
}

interface Description {
  readonly kinds: ReadonlySet<Kind>;
  readonly summary: string;
  /** The text that a search looks in. */
  readonly text: string;
}

/** Cached descriptions of events: the same events are listed repeatedly while the slider moves and a run adds others. */
const descriptions = new WeakMap<Event, Description>();

function described(event: Event): Description {
  const known = descriptions.get(event);
  if (known) return known;
  const summary = summaryOf(event);
  const made = { kinds: kindsOf(event), summary, text: `${event.author} ${summary} ${event.id}`.toLowerCase() };
  descriptions.set(event, made);
  return made;
}

function kindsOf(event: Event): ReadonlySet<Kind> {
  const kinds = new Set<Kind>();
  const { actions, content, errorCode } = event;
  for (const { text, functionCall, functionResponse } of content?.parts ?? []) {
    if (text) kinds.add('text');
    if (functionCall ?? functionResponse) kinds.add('calls');
  }
  if (Object.keys(actions.stateDelta).length > 0 || actions.removedState?.length) kinds.add('state');
  if (errorCode !== undefined) kinds.add('errors');
  if (kinds.size === 0) kinds.add('control');
  return kinds;
}

/** Returns one line about an event. */
function summaryOf(event: Event): string {
  const { actions, content, errorCode, errorMessage, object } = event;
  if (errorCode !== undefined) return `${errorCode}: ${errorMessage ?? ''}`;
  const parts = (content?.parts ?? []).map(({ text, thought, functionCall, functionResponse, inlineData }) => {
    if (functionCall) return `→ ${functionCall.name ?? ''}(${JSON.stringify(functionCall.args ?? {})})`;
    if (functionResponse) return `← ${functionResponse.name ?? ''} ${JSON.stringify(functionResponse.response ?? {})}`;
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
    ...(actions.endOfAgent ? ['end of agent'] : []),
  ];
  return [...parts, ...effects].join(' ').slice(0, 300) || (object ?? 'no content');
}
