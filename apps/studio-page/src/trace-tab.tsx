import { memo, useEffect, useMemo, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import { Button } from 'react-aria-components';
import { isOfRun } from './run-events.ts';
import { SpanContent } from './span-content.tsx';
import { type KeptSpan, messageOf, type ModelPrice, readSpans, serverNow } from './studio-client.ts';
import { createTimeScale, type TimeScale } from './time-scale.ts';
import { barsOf, formatCost, formatDuration, type Span, spansOf, workOf } from './trace.ts';
import { undoneEvents } from './undone-events.ts';

interface TraceTabProps {
  readonly place: SessionKey;
  readonly events: readonly Event[];
  /** The shown moment, in seconds since the epoch; undefined shows everything. */
  readonly until: number | undefined;
  /** Prices by the name of the model. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
  /** Code of the currency of the prices. */
  readonly currency: string | undefined;
  /** Number of all events of the session. The spans are read again when it changes, and every second during a run. */
  readonly count: number;
  readonly isRunning: boolean;
  /** The id of the run to show. Default: the newest run. */
  readonly chosen: string | undefined;
  readonly onChoose: (invocationId: string) => void;
}

const LONGEST_LABEL = 60;

/** Returns the beginning of the first message of each run, or of the answer that it continues with. */
function messagesOf(events: readonly Event[]): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const { author, invocationId, content } of events) {
    if (author !== 'user' || messages.has(invocationId)) continue;
    const said = (content?.parts ?? []).map(({ text, functionResponse }) =>
      functionResponse ? `answer ${JSON.stringify(functionResponse.response ?? {})}` : (text ?? ''),
    );
    const text = said.join(' ').trim();
    if (text !== '') messages.set(invocationId, text.slice(0, LONGEST_LABEL));
  }
  return messages;
}

/**
 * Shows the runs of the session, newest first, each as a waterfall of agents, model calls and tool calls, with tokens.
 * They are drawn from the server's spans, and from the events of a run without spans.
 */
export const TraceTab = memo(function TraceTab({
  place,
  events,
  until,
  prices,
  currency,
  count,
  isRunning,
  chosen,
  onChoose,
}: TraceTabProps) {
  const { kept, nowMs, error } = useKeptSpans(place, count, isRunning);
  const runs = useMemo(() => {
    // A run that has just begun has no events yet.
    const working = until === undefined ? (kept ?? []).filter(isWorking) : [];
    const ids = [
      ...events.filter(isOfRun).map(({ invocationId }) => invocationId),
      ...working.map(({ attributes }) => String(attributes['eventloom.invocation_id'])),
    ];
    return [...new Set(ids)].toReversed();
  }, [events, kept, until]);
  const messages = useMemo(() => messagesOf(events), [events]);
  const undone = useMemo(() => {
    const indexes = undoneEvents(events);
    return new Set(events.flatMap((event, index) => (indexes.has(index) ? [event.invocationId] : [])));
  }, [events]);
  const [shown, setShown] = useState(SHOWN);
  const [openId, setOpenId] = useState<string>();
  const invocationId = chosen !== undefined && runs.includes(chosen) ? chosen : runs[0];
  // A lost run has open bars too, but is not in progress.
  const isNewest = invocationId === runs[0];
  const measured = useMemo(
    () => (invocationId === undefined ? [] : barsOf(kept ?? [], invocationId, prices, until, isNewest ? nowMs : 0)),
    [kept, invocationId, prices, until, isNewest, nowMs],
  );
  const isMeasured = measured.length > 0;
  const spans = useMemo(
    () =>
      isMeasured || invocationId === undefined
        ? measured
        : spansOf(
            events,
            invocationId,
            prices,
            isNewest && isRunning && until === undefined ? nowMs / 1000 : undefined,
          ),
    [isMeasured, measured, events, invocationId, prices, isNewest, isRunning, until, nowMs],
  );
  if (!kept && error === undefined) return <p className="empty">Reading the spans.</p>;
  if (spans.length === 0 || invocationId === undefined)
    return <p className="empty">No runs yet. The time that each agent, model and tool takes appears here.</p>;
  const start = spans.reduce((first, span) => Math.min(first, span.start), Number.POSITIVE_INFINITY);
  const end = spans.reduce((last, span) => Math.max(last, span.end), start);
  const scale = createTimeScale({ start, end }, workOf(spans, isMeasured));
  const { calls, tokens, cost } = sumOf(spans);
  return (
    <div className="trace">
      <label className="field">
        Run
        <select title={invocationId} value={invocationId} onChange={({ target }) => onChoose(target.value)}>
          {runs.slice(0, shown).map((id, index) => (
            <option key={id} value={id}>
              {runs.length - index}: {messages.get(id) ?? id}
              {undone.has(id) && ' (undone)'}
            </option>
          ))}
        </select>
      </label>
      {runs.length > shown && (
        <Button className="link" onPress={() => setShown(shown + SHOWN)}>
          List earlier runs ({(runs.length - shown).toLocaleString()})
        </Button>
      )}
      <p className="usage">
        {formatDuration(scale.workedSeconds)}
        {scale.waits.length === 0 ? '' : ` and ${formatDuration(scale.waitedSeconds)} of waiting`}, {calls}{' '}
        {calls === 1 ? 'model call' : 'model calls'}
        {calls === 0 ? '' : `, ${tokens}`}
        {cost === undefined ? '' : `, ${formatCost(cost, currency)}`}
      </p>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      {!isMeasured && <p className="usage">Made from the events: the server keeps no spans of this run.</p>}
      <p className="time-axis" aria-hidden="true">
        <span>0</span>
        <span>{formatDuration(end - start)}</span>
      </p>
      <ol className="waterfall">
        {spans.map((span) => (
          <Row
            key={span.id}
            span={span}
            place={place}
            isMeasured={isMeasured}
            scale={scale}
            currency={currency}
            isShown={span.id === openId}
            onShow={setOpenId}
          />
        ))}
      </ol>
    </div>
  );
});

/** Number of runs that the menu lists at first and with each press of a button, newest first. */
const SHOWN = 100;

interface RowProps {
  readonly span: Span;
  readonly place: SessionKey;
  /** True for a span of the server. */
  readonly isMeasured: boolean;
  readonly scale: TimeScale;
  readonly currency: string | undefined;
  /** True if the attributes are shown. */
  readonly isShown: boolean;
  readonly onShow: (id: string | undefined) => void;
}

/** The indentation of a level, in pixels. */
const INDENT = 10;

/** The minimum width of a bar, in percent, so that it is visible at the end of the track too. */
const MIN_WIDTH = 0.5;

/** Shows a bar of the waterfall, and its attributes when it is opened. */
function Row({ span, place, isMeasured, scale, currency, isShown, onShow }: RowProps) {
  const { id, label, kind, depth, isFailed, isOpen, details, use } = span;
  // The least important fact is the last one, because a narrow row has no room for all.
  const { cached, ...named } = details;
  const facts = [
    ...Object.entries(named).map(([name, value]) => `${name} ${value.toLocaleString()}`),
    ...(use?.cost === undefined ? [] : [formatCost(use.cost, currency)]),
    ...(cached === undefined ? [] : [`cached ${cached.toLocaleString()}`]),
  ].join(' · ');
  const left = Math.min(scale.at(span.start), 100 - MIN_WIDTH);
  const firstToken = firstTokenOf(span);
  return (
    <li data-kind={kind} data-failed={isFailed} data-open={isOpen}>
      <button type="button" aria-expanded={isShown} onClick={() => onShow(isShown ? undefined : id)}>
        <span className="span-label" style={{ paddingInlineStart: `${depth * INDENT}px` }}>
          <span className="span-name" title={label}>
            {label}
          </span>
          {/* The name of a tool may be that of an agent. */}
          {kind !== 'run' && <small>{kind}</small>}
        </span>
        <span className="span-time">
          {formatDuration(span.end - span.start)}
          {isOpen && '…'}
        </span>
        <span className="bar-track">
          {scale.waits.map(({ position, width }) => (
            <span key={position} className="wait" style={{ insetInlineStart: `${position}%`, width: `${width}%` }} />
          ))}
          <span
            className="bar"
            style={{
              insetInlineStart: `${left}%`,
              width: `${Math.max(scale.at(span.end) - scale.at(span.start), MIN_WIDTH)}%`,
            }}
          >
            {firstToken !== undefined && <span className="first-token" style={{ width: `${firstToken}%` }} />}
          </span>
        </span>
        {facts !== '' && (
          <small
            className="span-details"
            title={facts}
            style={{ paddingInlineStart: `calc(${depth * INDENT}px + 1.1em)` }}
          >
            {facts}
          </small>
        )}
      </button>
      {isShown && <SpanContent place={place} span={span} isMeasured={isMeasured} />}
    </li>
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
  const [nowMs, setNowMs] = useState(0);
  const [error, setError] = useState<string>();
  const [isAbsent, setIsAbsent] = useState(false);
  useEffect(() => {
    if (isAbsent && !isRunning) return undefined;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      try {
        const found = isAbsent ? undefined : await readSpans({ appName, userId, sessionId }, leaving.signal);
        if (leaving.signal.aborted) return;
        setKept(found ?? []);
        setNowMs(isRunning ? serverNow() : 0);
        setIsAbsent(found === undefined);
        setError(undefined);
      } catch (thrown) {
        if (leaving.signal.aborted) return;
        setError(messageOf(thrown));
      }
      if (isRunning) timer = setTimeout(() => void read(), READ_AGAIN_MS);
    };
    void read();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [appName, userId, sessionId, count, isRunning, isAbsent]);
  return { kept, nowMs, error };
}

/** Returns the time to the first token in percent of the bar; undefined if it is unknown, and for a reply that came as a whole. */
function firstTokenOf({ start, end, use }: Span): number | undefined {
  const seconds = use?.firstTokenMs === undefined ? undefined : use.firstTokenMs / 1000;
  return seconds === undefined || seconds >= end - start ? undefined : (seconds / (end - start)) * 100;
}

function sumOf(spans: readonly Span[]) {
  const used = spans.flatMap(({ use }) => use ?? []);
  const costs = used.flatMap(({ cost }) => cost ?? []);
  const input = used.reduce((sum, each) => sum + (each.input ?? 0), 0);
  const output = used.reduce((sum, each) => sum + (each.output ?? 0), 0);
  const isKnown = used.some((each) => each.input !== undefined || each.output !== undefined);
  return {
    calls: spans.filter(({ kind }) => kind === 'model').length,
    cost: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    tokens: isKnown ? `${input.toLocaleString()} tokens in, ${output.toLocaleString()} out` : 'tokens unknown',
  };
}
