import { useEffect, useRef, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import type { PersonAnswer, PersonRequest } from '@eventloom/client';
import { AgentCall, AudioPlayer, LiveCall, type Microphone, openMicrophone } from '@eventloom/client/live';
import { Button, Input, TextField } from 'react-aria-components';
import { bearerProtocols, client, createSession, messageOf, serverUrl } from './studio-client.ts';

/** A voice call with the agent, and the actions of the person. */
export interface VoiceCall {
  readonly status: 'idle' | 'connecting' | 'open' | 'reconnecting' | 'ending';
  /** The reason why the last call ended early, or why the server refused a text. */
  readonly error: string | undefined;
  readonly isMuted: boolean;
  readonly start: () => Promise<void>;
  readonly stop: () => void;
  readonly setMuted: (isMuted: boolean) => void;
  /** Sends a text in the call. */
  readonly say: (text: string) => void;
  /** Answers a request in the call. Resolves when the server has accepted the answer, or with the reason why it did not. */
  readonly answer: (request: PersonRequest, answer: PersonAnswer) => Promise<string | undefined>;
  /** Returns the loudness of the microphone and of the played speech, from 0 to 1. */
  readonly levels: () => readonly [input: number, output: number];
}

/** The call and its devices. */
interface Line {
  readonly player: AudioPlayer;
  /** Fires when the person has ended the call, or left the session. */
  readonly leaving: AbortController;
  /** The answers that the server has neither accepted nor refused, in the order in which they were sent. */
  readonly answers: SentAnswer[];
  call?: AgentCall;
  microphone?: Microphone;
}

interface SentAnswer {
  readonly requestId: string;
  readonly settle: (refusal: string | undefined) => void;
}

/** Settles the answer that an event accepts or refuses. Returns the refusal of a typed text. */
function settleAnswer(answers: SentAnswer[], { author, content, errorCode, errorMessage }: Event): string | undefined {
  const ids = content?.parts?.map(({ functionResponse }) => functionResponse?.id) ?? [];
  const isRefusal = errorCode === 'INVALID_MESSAGE';
  const at = isRefusal ? 0 : answers.findIndex(({ requestId }) => author === 'user' && ids.includes(requestId));
  const settled = at < 0 ? undefined : answers[at];
  if (!settled) return isRefusal ? errorMessage : undefined;
  answers.splice(at, 1);
  settled.settle(isRefusal ? errorMessage : undefined);
  return undefined;
}

/** Ends a call: releases the microphone and stops the sound at once. */
function hangUp({ player, leaving, call, microphone }: Line): void {
  leaving.abort();
  call?.close();
  player.clear();
  void microphone?.close();
}

/** Resolves with the value of a promise; undefined if the signal fires before. */
async function unlessLeft<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: left, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener('abort', () => resolve(undefined));
  if (signal.aborted) resolve(undefined);
  return Promise.race([promise, left]);
}

/** Refuses the answers that a lost connection may have carried. */
function refuseAnswers(answers: SentAnswer[], reason: string): void {
  for (const { settle } of answers.splice(0)) settle(reason);
}

/**
 * A voice call in the session of the page. The agent's speech stops when the person speaks. A call whose connection is lost is opened
 * again.
 *
 * @param onEvents called with the events of the call so far. After a lost connection they begin with those that the session has
 * @param onEnd called after the call, when the session has its events
 */
export function useVoiceCall(
  place: SessionKey,
  onEvents: (change: (before: readonly Event[]) => readonly Event[]) => void,
  onEnd: () => void,
): VoiceCall {
  const [status, setStatus] = useState<VoiceCall['status']>('idle');
  const [error, setError] = useState<string>();
  const [isMuted, setIsMuted] = useState(false);
  const line = useRef<Line>(undefined);
  // The page may show another session before the call ends.
  useEffect(
    () => () => {
      if (line.current) hangUp(line.current);
    },
    [],
  );

  async function start(): Promise<void> {
    setStatus('connecting');
    setError(undefined);
    setIsMuted(false);
    // Created in the click handler, because browsers allow sound only after a click.
    const player = new AudioPlayer();
    const leaving = new AbortController();
    const { signal } = leaving;
    const own: Line = { player, leaving, answers: [] };
    line.current = own;
    const session = client.session(place);
    /** The events since the newest connection was opened. */
    let fresh: Event[] = [];
    const readAgain = async (): Promise<void> => {
      try {
        const stored = (await session.get({ ifExists: true }))?.events ?? [];
        const known = new Set(stored.map(({ id }) => id));
        onEvents(() => [...stored, ...fresh.filter(({ id }) => !known.has(id))]);
      } catch (thrown) {
        setError(messageOf(thrown));
      }
    };
    try {
      await unlessLeft(createSession(place), signal);
      if (signal.aborted) return;
      const call = new AgentCall(session, {
        connect: () => new LiveCall({ ...place, baseUrl: serverUrl, protocols: bearerProtocols() }),
        onEvent: (event) => {
          if (event.interrupted) player.clear();
          const refusal = settleAnswer(own.answers, event);
          if (refusal !== undefined) setError(refusal);
          fresh.push(event);
          onEvents((before) => [...before, event]);
        },
      });
      own.call = call;
      call.onAudio = (samples, sampleRate) => player.play(samples, sampleRate);
      let last = call.snapshot.status;
      call.subscribe(() => {
        const { status: now } = call.snapshot;
        if (now === last) return;
        if (now === 'open' && last === 'reconnecting') void readAgain();
        if (now === 'reconnecting') {
          fresh = [];
          player.clear();
          refuseAnswers(own.answers, 'The connection was lost before the answer was accepted. Answer again.');
        }
        last = now;
        if (now !== 'ended') setStatus((before) => (before === 'ending' ? before : now));
      });
      const opening = openMicrophone({
        scriptUrl: new URL('./recorder.js', location.href).href,
        onAudio: (samples) => call.sendAudio(samples),
      }).then((microphone) => {
        own.microphone = microphone;
        // The person may answer the browser's question after the call.
        if (signal.aborted) void microphone.close();
      });
      await unlessLeft(opening, signal);
      await call.ended;
      if (call.snapshot.error) setError(messageOf(call.snapshot.error));
    } catch (thrown) {
      setError(messageOf(thrown));
    } finally {
      line.current = undefined;
      hangUp(own);
      refuseAnswers(own.answers, 'The call ended before the answer was accepted. Answer again.');
      await player.close();
      setStatus('idle');
      onEnd();
    }
  }

  return {
    status,
    error,
    isMuted,
    start,
    stop: () => {
      if (!line.current) return;
      setStatus('ending');
      hangUp(line.current);
    },
    setMuted: (muted) => {
      line.current?.microphone?.setMuted(muted);
      setIsMuted(muted);
    },
    say: (text) => {
      try {
        line.current?.call?.send(text);
        setError(undefined);
      } catch (thrown) {
        setError(messageOf(thrown));
      }
    },
    answer: async (request, answer) => {
      const { call: open, answers = [] } = line.current ?? {};
      if (!open) return 'The call has ended. Answer again.';
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      try {
        open.answer(request, answer);
      } catch (thrown) {
        return messageOf(thrown);
      }
      answers.push({ requestId: request.id, settle: resolve });
      return promise;
    },
    levels: () => [line.current?.microphone?.level() ?? 0, line.current?.player.level() ?? 0],
  };
}

/** The notes about a call that is not open. */
const NOTES = {
  idle: '',
  connecting: 'Connecting…',
  reconnecting: 'The connection was lost. Connecting again…',
  ending: 'Ending the call…',
};

/** Shows the meters of a call, the actions of the person, and a field for a text. */
export function VoiceBar({ call }: { readonly call: VoiceCall }) {
  const { status, error, isMuted, setMuted, say, stop } = call;
  const [text, setText] = useState('');
  return (
    <div className="composer voice" role="group" aria-label="Voice call">
      <div className="row">
        <span role="status" className="grow">
          {status === 'open' ? (isMuted ? 'The microphone is muted' : 'Speak now') : NOTES[status]}
        </span>
        <Meters call={call} />
        <Button className="quiet" aria-pressed={isMuted} onPress={() => setMuted(!isMuted)}>
          {isMuted ? 'Unmute' : 'Mute'}
        </Button>
        <Button className="danger" isDisabled={status === 'ending'} onPress={stop}>
          End call
        </Button>
      </div>
      {error !== undefined && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (status !== 'open' || text.trim() === '') return;
          say(text);
          setText('');
        }}
      >
        <TextField className="grow" aria-label="Message" value={text} onChange={setText}>
          <Input dir="auto" autoComplete="off" placeholder="Message" />
        </TextField>
        <Button className="primary" type="submit" isDisabled={status !== 'open'}>
          Send
        </Button>
      </form>
    </div>
  );
}

function Meters({ call }: { readonly call: VoiceCall }) {
  const input = useRef<HTMLMeterElement>(null);
  const output = useRef<HTMLMeterElement>(null);
  const newest = useRef(call);
  newest.current = call;
  useEffect(() => {
    let frame = requestAnimationFrame(function draw() {
      const [heard, spoken] = newest.current.levels();
      if (input.current) input.current.value = heard;
      if (output.current) output.current.value = spoken;
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <div className="meters">
      <label>
        You <meter ref={input} min={0} max={1} />
      </label>
      <label>
        Agent <meter ref={output} min={0} max={1} />
      </label>
    </div>
  );
}
