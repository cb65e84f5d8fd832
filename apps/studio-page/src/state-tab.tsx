import { useMemo } from 'react';
import type { Event } from '@eventloom/core';

interface StateTabProps {
  readonly events: readonly Event[];
  readonly selectedId: string | undefined;
  readonly state: Readonly<Record<string, unknown>>;
}

const SCOPES = [
  ['session', 'Session', ''],
  ['user', 'User', 'user:'],
  ['app', 'App', 'app:'],
] as const;

/** Shows the state by scope at the shown moment, and the changes that led to it, newest first. */
export function StateTab({ events, selectedId, state }: StateTabProps) {
  const changes = useMemo(() => changesOf(events), [events]);
  return (
    <div className="state">
      {SCOPES.map(([id, title, prefix]) => {
        const keys = Object.keys(state).filter((key) =>
          prefix === '' ? !key.startsWith('user:') && !key.startsWith('app:') : key.startsWith(prefix),
        );
        return (
          <section key={id}>
            <h2>{title}</h2>
            {keys.length === 0 ? (
              <p className="empty">empty</p>
            ) : (
              <dl>
                {keys.toSorted().map((key) => (
                  <div key={key}>
                    <dt>{key}</dt>
                    <dd>{JSON.stringify(state[key])}</dd>
                  </div>
                ))}
              </dl>
            )}
          </section>
        );
      })}
      <section>
        <h2>Changes</h2>
        {changes.length === 0 && <p className="empty">none</p>}
        <ol className="changes">
          {changes.toReversed().map(({ event, index, key, before, after }) => (
            <li key={`${event.id} ${key}`} data-selected={event.id === selectedId}>
              <small>
                event {index + 1}, {event.author}
              </small>
              <code>{key}</code>
              <span className="before">{before}</span>
              <span className="after">{after}</span>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

interface Change {
  readonly event: Event;
  readonly index: number;
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

function changesOf(events: readonly Event[]): readonly Change[] {
  const values = new Map<string, unknown>();
  return events.flatMap((event, index) => {
    const { stateDelta, removedState = [] } = event.actions;
    const set = Object.entries(stateDelta).map(([key, value]) => {
      const before = values.has(key) ? JSON.stringify(values.get(key)) : '';
      values.set(key, value);
      return { event, index, key, before, after: JSON.stringify(value) };
    });
    const removed = removedState.map((key) => {
      const before = values.has(key) ? JSON.stringify(values.get(key)) : '';
      values.delete(key);
      return { event, index, key, before, after: 'removed' };
    });
    return [...set, ...removed];
  });
}
