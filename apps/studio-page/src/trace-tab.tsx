import { useMemo, useState } from 'react';
import type { Event } from '@eventloom/core';
import type { ModelPrice } from './studio-client.ts';
import { costOf, formatCost, formatDuration, spansOf } from './trace.ts';

interface TraceTabProps {
  readonly events: readonly Event[];
  /** Prices by the name of a model. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/** The runs of the session, newest first, each as a waterfall of agents, model calls and tool calls, with tokens. */
export function TraceTab({ events, prices }: TraceTabProps) {
  const runs = useMemo(() => [...new Set(events.map(({ invocationId }) => invocationId))].toReversed(), [events]);
  const [chosen, setChosen] = useState<string>();
  const invocationId = chosen !== undefined && runs.includes(chosen) ? chosen : runs[0];
  const spans = useMemo(
    () => (invocationId === undefined ? [] : spansOf(events, invocationId, prices)),
    [events, invocationId, prices],
  );
  const usage = useMemo(() => usageOf(events, invocationId, prices), [events, invocationId, prices]);
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
        {formatDuration(run.end - run.start)}, {usage.calls} {usage.calls === 1 ? 'model call' : 'model calls'},{' '}
        {usage.input.toLocaleString()} tokens in, {usage.output.toLocaleString()} out
        {usage.cost === undefined ? '' : `, ${formatCost(usage.cost)}`}
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

function usageOf(
  events: readonly Event[],
  invocationId: string | undefined,
  prices: Readonly<Record<string, ModelPrice>>,
) {
  const replies = events.filter((event) => event.invocationId === invocationId && event.usageMetadata);
  const used = replies.flatMap(({ usageMetadata }) => (usageMetadata ? [usageMetadata] : []));
  const costs = replies.flatMap((event) => costOf(event, prices) ?? []);
  return {
    calls: used.length,
    cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    input: used.reduce((sum, { promptTokenCount = 0 }) => sum + promptTokenCount, 0),
    output: used.reduce((sum, { candidatesTokenCount = 0 }) => sum + candidatesTokenCount, 0),
  };
}
