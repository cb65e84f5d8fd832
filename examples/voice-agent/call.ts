import { type Event, LiveRequestQueue, type RunConfig, type Runner } from 'eventloom';

/** Yields speech: base64 PCM, one piece at a time. */
export interface Microphone {
  readonly mimeType: string;
  readonly pieces: AsyncIterable<string>;
}

/** Takes speech: base64 PCM with 24,000 samples a second. */
export interface Speaker {
  play(piece: string): void;
  /** Discards audio that has not been played yet. */
  clear(): void;
}

const runConfig: RunConfig = {
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  sessionResumption: {},
  // The program reports when the user begins and stops speaking. Without this option the service detects it.
  realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
};

/** Asks a spoken question, and plays the spoken answer. */
export async function* call(runner: Runner, microphone: Microphone, speaker: Speaker): AsyncGenerator<Event> {
  const liveRequestQueue = new LiveRequestQueue();
  const speaking = speak(microphone, liveRequestQueue);
  // A microphone that fails ends the live run, and its error is thrown below.
  speaking.catch(() => liveRequestQueue.close());
  try {
    for await (const event of runner.runLive({ userId: 'you', sessionId: 'first', liveRequestQueue, runConfig })) {
      for (const { inlineData } of event.content?.parts ?? []) if (inlineData?.data) speaker.play(inlineData.data);
      if (event.interrupted) speaker.clear();
      if (event.turnComplete) liveRequestQueue.close();
      yield event;
    }
  } finally {
    liveRequestQueue.close();
    await speaking;
  }
}

async function speak({ pieces, mimeType }: Microphone, queue: LiveRequestQueue): Promise<void> {
  queue.sendActivityStart();
  for await (const data of pieces) {
    await queue.ready();
    if (queue.isClosed) return;
    queue.sendRealtime({ data, mimeType });
  }
  if (!queue.isClosed) queue.sendActivityEnd();
}
