import { useMemo, useState } from 'react';
import type { Event } from '@eventloom/core';
import { formatDuration, spansOf } from './trace.ts';

/** The runs of the session, newest first, each as a waterfall of agents, model calls and tool calls, with tokens. */
export function TraceTab({ events }: { readonly events: readonly Event[] }) {
  const runs = useMemo(() => [...new Set(events.map(({ invocationId }) => invocationId))].toReversed(), [events]);
  const [chosen, setChosen] = useState<string>();
  const invocationId = chosen !== undefined && runs.includes(chosen) ? chosen : runs[0];
  const spans = useMemo(
    () => (invocationId === undefined ? [] : spansOf(events, invocationId)),
    [events, invocationId],
  );
  const usage = useMemo(() => usageOf(events, invocationId), [events, invocationId]);
  const [run] = spans;
  if (!run || invocationId === undefined) return <p className="empty">No runs yet.</p>;
  const length = Math.max(run.end - run.start, 0.001);
  return (
    <div className="trace">
      <label className="field">
        Run
        <select value={invocationId} onChange={({ target }) => setChosen(target.value)}>
          {runs.map((id, index) => (
            <option key={id} value={id}>
              {runs.length - index}: {id}
            </option>
          ))}
        </select>
      </label>
      <p className="usage">
        {formatDuration(run.end - run.start)}, {usage.calls} model calls, {usage.input.toLocaleString()} tokens in,{' '}
        {usage.output.toLocaleString()} out
      </p>
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
                  insetInlineStart: `${((span.start - run.start) / length) * 100}%`,
                  width: `${Math.max(((span.end - span.start) / length) * 100, 0.5)}%`,
                }}
              />
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

function usageOf(events: readonly Event[], invocationId: string | undefined) {
  const used = events.flatMap((event) =>
    event.invocationId === invocationId && event.usageMetadata ? [event.usageMetadata] : [],
  );
  return {
    calls: used.length,
    input: used.reduce((sum, { promptTokenCount = 0 }) => sum + promptTokenCount, 0),
    output: used.reduce((sum, { candidatesTokenCount = 0 }) => sum + candidatesTokenCount, 0),
  };
}
