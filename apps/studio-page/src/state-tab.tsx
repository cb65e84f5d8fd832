import { memo, useMemo, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import { Button } from 'react-aria-components';
import { FoldedJson } from './json-view.tsx';
import type { StateValues } from './past-state.ts';
import { StateForm } from './state-form.tsx';

interface StateTabProps {
  /** All events of the session. */
  readonly events: readonly Event[];
  /** Number of events up to the shown moment. */
  readonly count: number;
  readonly selectedId: string | undefined;
  readonly state: Readonly<Record<string, unknown>>;
  /** The session's own state at its beginning; undefined while it is not known. */
  readonly initialState: StateValues | undefined;
  readonly place: SessionKey;
  /** Called when the person has set a value. */
  readonly onStored: () => void;
  /** Shows an event. */
  readonly onSelectEvent: (id: string) => void;
}

const SCOPES = [
  ['session', 'Session', ''],
  ['user', 'User', 'user:'],
  ['app', 'App', 'app:'],
] as const;

/** Number of keys of a scope, and of changes, that are drawn at first and with each press of a button. */
const SHOWN = 100;

/**
 * Shows the state by scope at the shown moment, and the changes that led to it, newest first. It is drawn again when
 * the state changes, not with each chunk of a reply.
 */
export const StateTab = memo(function StateTab({
  events,
  count,
  selectedId,
  state,
  initialState,
  place,
  onStored,
  onSelectEvent,
}: StateTabProps) {
  const changes = useMemo(() => changesOf(events, initialState), [events, initialState]);
  const [shown, setShown] = useState(SHOWN);
  // Changes are in the order of their events.
  const end = changes.findLastIndex(({ index }) => index < count) + 1;
  const drawn = changes.slice(Math.max(0, end - shown), end).toReversed();
  const unknown = useMemo(() => unknownAt(changes, end), [changes, end]);
  return (
    <div className="state">
      {SCOPES.map(([id, title, prefix]) => (
        <Scope
          key={id}
          title={title}
          state={state}
          unknown={prefix === '' ? [] : unknown.filter(({ key }) => key.startsWith(prefix))}
          keys={Object.keys(state).filter((key) =>
            prefix === '' ? !key.startsWith('user:') && !key.startsWith('app:') : key.startsWith(prefix),
          )}
        />
      ))}
      {count >= events.length && <StateForm place={place} onStored={onStored} />}
      <section>
        <h2>Changes{end > 0 && ` (${end.toLocaleString()})`}</h2>
        {end === 0 && <p className="empty">none</p>}
        <ol className="changes">
          {drawn.map(({ event, index, key, before, after }) => (
            <li key={`${event.id} ${key}`} data-selected={event.id === selectedId}>
              <span>
                <button type="button" className="link" onClick={() => onSelectEvent(event.id)}>
                  event {index + 1}
                </button>
                <small>, {event.author}</small>
              </span>
              <code>{key}</code>
              <span className="before">{shortened(before)}</span>
              <span className="after">{shortened(after)}</span>
            </li>
          ))}
        </ol>
        {end > drawn.length && (
          <Button className="quiet" onPress={() => setShown(shown + SHOWN)}>
            Show earlier changes ({(end - drawn.length).toLocaleString()})
          </Button>
        )}
      </section>
    </div>
  );
});

interface ScopeProps {
  readonly title: string;
  readonly keys: readonly string[];
  readonly state: Readonly<Record<string, unknown>>;
  /** Changes of keys whose values before the change are not known. */
  readonly unknown: readonly Change[];
}

function Scope({ title, keys, state, unknown }: ScopeProps) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <section>
      <h2>{title}</h2>
      {keys.length === 0 && unknown.length === 0 && <p className="empty">no values</p>}
      <dl>
        {keys
          .toSorted()
          .slice(0, shown)
          .map((key) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <FoldedJson value={state[key]} />
              </dd>
            </div>
          ))}
        {unknown.slice(0, SHOWN).map(({ key, index }) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd className="empty">unknown before event {index + 1}</dd>
          </div>
        ))}
      </dl>
      {keys.length > shown && (
        <Button className="quiet" onPress={() => setShown(shown + SHOWN)}>
          Show more ({(keys.length - shown).toLocaleString()})
        </Button>
      )}
    </section>
  );
}

/** The longest value of a change that is shown, in characters: the event has the whole value. */
const MAX_VALUE = 200;

function shortened(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

interface Change {
  readonly event: Event;
  readonly index: number;
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the first changes after a moment of keys of the user and the app that no event of the session changed before
 * it. Other sessions may have written them, so their values at the moment are not known.
 *
 * @param end number of changes up to the moment
 */
function unknownAt(changes: readonly Change[], end: number): readonly Change[] {
  const known = new Set(changes.slice(0, end).map(({ key }) => key));
  return changes.slice(end).filter(({ key }) => {
    if (known.has(key) || !/^(?:user|app):/.test(key)) return false;
    known.add(key);
    return true;
  });
}

function changesOf(events: readonly Event[], initialState: StateValues = {}): readonly Change[] {
  const values = new Map(Object.entries(initialState).map(([key, value]) => [key, JSON.stringify(value) ?? '']));
  return events.flatMap((event, index) => {
    const { stateDelta, removedState = [] } = event.actions;
    const set = Object.entries(stateDelta).map(([key, value]) => {
      const before = values.get(key) ?? '';
      const after = JSON.stringify(value) ?? '';
      values.set(key, after);
      return { event, index, key, before, after };
    });
    const removed = removedState.map((key) => {
      const before = values.get(key) ?? '';
      values.delete(key);
      return { event, index, key, before, after: 'removed' };
    });
    return [...set, ...removed];
  });
}
