import { useEffect, useMemo, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import { type KeptSpan, type ModelPrice, readSpans } from './studio-client.ts';
import { barsOf, formatCost, formatDuration, type Span, spansOf } from './trace.ts';

interface TraceTabProps {
  readonly place: SessionKey;
  readonly events: readonly Event[];
  /** The shown moment, in seconds since the epoch; undefined shows everything. */
  readonly until: number | undefined;
  /** Prices by the name of the model. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
  /** Number of all events of the session. The spans are read again when it changes, and every second during a run. */
  readonly count: number;
  readonly isRunning: boolean;
}

const LONGEST_LABEL = 60;

/** Returns the beginning of the first message of each run. A run that was resumed without a message has none. */
function messagesOf(events: readonly Event[]): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const { author, invocationId, content } of events) {
    if (author !== 'user' || messages.has(invocationId)) continue;
    const text =
      content?.parts
        ?.map((part) => part.text ?? '')
        .join(' ')
        .trim() ?? '';
    if (text !== '') messages.set(invocationId, text.slice(0, LONGEST_LABEL));
  }
  return messages;
}

/**
 * Shows the runs of the session, newest first, each as a waterfall of agents, model calls and tool calls, with tokens.
 * They are drawn from the server's spans, and from the events of a run without spans.
 */
export function TraceTab({ place, events, until, prices, count, isRunning }: TraceTabProps) {
  const { kept, error } = useKeptSpans(place, count, isRunning);
  const runs = useMemo(() => {
    // A run that has just begun has no events yet.
    const working = until === undefined ? (kept ?? []).filter(isWorking) : [];
    const ids = [
      ...events.map(({ invocationId }) => invocationId),
      ...working.map(({ attributes }) => String(attributes['eventloom.invocation_id'])),
    ];
    return [...new Set(ids)].toReversed();
  }, [events, kept, until]);
  const messages = useMemo(() => messagesOf(events), [events]);
  const [chosen, setChosen] = useState<string>();
  const invocationId = chosen !== undefined && runs.includes(chosen) ? chosen : runs[0];
  const measured = useMemo(
    () => (invocationId === undefined ? [] : barsOf(kept ?? [], invocationId, prices, until)),
    [kept, invocationId, prices, until],
  );
  const isMeasured = measured.length > 0;
  const spans = useMemo(
    () => (isMeasured || invocationId === undefined ? measured : spansOf(events, invocationId, prices)),
    [isMeasured, measured, events, invocationId, prices],
  );
  if (!kept && error === undefined) return <p className="empty">Reading the spans.</p>;
  if (spans.length === 0 || invocationId === undefined) return <p className="empty">No runs yet.</p>;
  const start = spans.reduce((first, span) => Math.min(first, span.start), Number.POSITIVE_INFINITY);
  const end = spans.reduce((last, span) => Math.max(last, span.end), start);
  const length = Math.max(end - start, 0.001);
  const { calls, input, output, cost } = sumOf(spans);
  return (
    <div className="trace">
      <label className="field">
        Run
        <select title={invocationId} value={invocationId} onChange={({ target }) => setChosen(target.value)}>
          {runs.map((id, index) => (
            <option key={id} value={id}>
              {runs.length - index}: {messages.get(id) ?? id}
            </option>
          ))}
        </select>
      </label>
      <p className="usage">
        {formatDuration(end - start)}, {calls} {calls === 1 ? 'model call' : 'model calls'}, {input.toLocaleString()}{' '}
        tokens in, {output.toLocaleString()} out
        {cost === undefined ? '' : `, cost ${formatCost(cost)}`}
      </p>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {!isMeasured && <p className="usage">Made from the events: the server keeps no spans of this run.</p>}
      <ol className="waterfall">
        {spans.map((span) => (
          <li key={span.id} data-kind={span.kind} data-failed={span.isFailed} data-open={span.isOpen}>
            <span className="span-label" style={{ paddingInlineStart: `${span.depth * 12}px` }}>
              {span.label}
            </span>
            <span className="span-time">{span.isOpen ? 'open' : formatDuration(span.end - span.start)}</span>
            <span className="bar-track">
              <span
                className="bar"
                style={{
                  insetInlineStart: `${((span.start - start) / length) * 100}%`,
                  width: `${Math.max(((span.end - span.start) / length) * 100, 0.5)}%`,
                }}
              >
                {firstTokenOf(span) !== undefined && (
                  <span className="first-token" style={{ width: `${firstTokenOf(span)}%` }} />
                )}
              </span>
            </span>
            {Object.keys(span.details).length > 0 && (
              <small className="span-details">
                {Object.entries(span.details)
                  .map(([name, value]) => `${name} ${value}`)
                  .join(', ')}
              </small>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}

function isWorking({ kind, status }: KeptSpan): boolean {
  return kind === 'run' && status === 'running';
}

/** Active calls have no event yet, so the spans are read at this interval, in milliseconds. */
const READ_AGAIN_MS = 1000;

/** Reads the spans of a session. Both are undefined until the server has answered; the spans are an empty list if it keeps none. */
function useKeptSpans({ appName, userId, sessionId }: SessionKey, count: number, isRunning: boolean) {
  const [kept, setKept] = useState<readonly KeptSpan[]>();
  const [error, setError] = useState<string>();
  const [isAbsent, setIsAbsent] = useState(false);
  useEffect(() => {
    if (isAbsent) return undefined;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        const found = await readSpans({ appName, userId, sessionId }, leaving.signal);
        if (leaving.signal.aborted) return;
        setKept(found ?? []);
        setIsAbsent(found === undefined);
        setError(undefined);
        if (isRunning) timer = setTimeout(() => void read(), READ_AGAIN_MS);
      } catch (thrown) {
        if (!leaving.signal.aborted) setError(thrown instanceof Error ? thrown.message : String(thrown));
      }
    };
    void read();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [appName, userId, sessionId, count, isRunning, isAbsent]);
  return { kept, error };
}

/** Returns the time to the first token in percent of the bar; undefined if it is unknown. */
function firstTokenOf({ start, end, use }: Span): number | undefined {
  const seconds = use?.firstTokenMs === undefined ? undefined : use.firstTokenMs / 1000;
  return seconds === undefined || end <= start ? undefined : Math.min((seconds / (end - start)) * 100, 100);
}

function sumOf(spans: readonly Span[]) {
  const used = spans.flatMap(({ use }) => use ?? []);
  const costs = used.flatMap(({ cost }) => cost ?? []);
  return {
    calls: spans.filter(({ kind }) => kind === 'model').length,
    cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    input: used.reduce((sum, { input = 0 }) => sum + input, 0),
    output: used.reduce((sum, { output = 0 }) => sum + output, 0),
  };
}
