import { useEffect, useRef, useState } from 'react';
import type { Event, SessionKey } from '@eventloom/core';
import { ServerError } from '@eventloom/client';
import { AudioPlayer, LiveCall, type Microphone, openMicrophone } from '@eventloom/client/live';
import { Button } from 'react-aria-components';
import { bearerProtocols, client, messageOf, serverUrl } from './studio-client.ts';

/** A voice call with the agent, and the actions of the person. */
export interface VoiceCall {
  readonly status: 'idle' | 'connecting' | 'open' | 'ending';
  /** The reason why the last call ended early. */
  readonly error: string | undefined;
  readonly isMuted: boolean;
  readonly start: () => Promise<void>;
  readonly stop: () => void;
  readonly setMuted: (isMuted: boolean) => void;
  /** Returns the loudness of the microphone and of the played speech, from 0 to 1. */
  readonly levels: () => readonly [input: number, output: number];
}

/** The connection and the devices of a call. */
interface Line {
  readonly player: AudioPlayer;
  /** Fires when the person has ended the call, or left the session. */
  readonly leaving: AbortController;
  call?: LiveCall;
  microphone?: Microphone;
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

/**
 * A voice call in the session of the page. The agent's speech stops when the person speaks.
 *
 * @param onEvent called with every event of the call
 * @param onEnd called after the call, when the session has its events
 */
export function useVoiceCall(place: SessionKey, onEvent: (event: Event) => void, onEnd: () => void): VoiceCall {
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
    const own: Line = { player, leaving };
    line.current = own;
    try {
      await unlessLeft(createSession(place), signal);
      if (signal.aborted) return;
      const call = new LiveCall({ ...place, baseUrl: serverUrl, protocols: bearerProtocols() });
      own.call = call;
      call.onAudio = (samples, sampleRate) => player.play(samples, sampleRate);
      void call.opened.then(() => setStatus((before) => (before === 'connecting' ? 'open' : before)));
      const opening = openMicrophone({
        scriptUrl: new URL('./recorder.js', location.href).href,
        onAudio: (samples) => call.sendAudio(samples),
      }).then((microphone) => {
        own.microphone = microphone;
        // The person may answer the browser's question after the call.
        if (signal.aborted) void microphone.close();
      });
      await unlessLeft(opening, signal);
      for await (const event of call) {
        if (event.interrupted) player.clear();
        onEvent(event);
      }
    } catch (thrown) {
      setError(messageOf(thrown));
    } finally {
      line.current = undefined;
      hangUp(own);
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
    levels: () => [line.current?.microphone?.level() ?? 0, line.current?.player.level() ?? 0],
  };
}

/** Creates the session if it does not exist. The server creates one with the first message, but a call needs it earlier. */
async function createSession(place: SessionKey): Promise<void> {
  const session = client.session(place);
  if (await session.get({ numRecentEvents: 0, ifExists: true })) return;
  try {
    await session.create();
  } catch (thrown) {
    if (!(ServerError.isInstance(thrown) && thrown.serverCode === 'SESSION_ALREADY_EXISTS')) throw thrown;
  }
}

/** The notes about a call that is not open. */
const NOTES = { idle: '', connecting: 'Connecting…', ending: 'Ending the call…' };

/** Replaces the message field during a call: shows meters and the actions of the person. */
export function VoiceBar({ call }: { readonly call: VoiceCall }) {
  const { status, isMuted, setMuted, stop } = call;
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
