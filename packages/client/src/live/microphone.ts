import { levelOf } from './audio-player.ts';

/** Options of `openMicrophone`. */
export interface MicrophoneOptions {
  /** Called with each 40 milliseconds of speech: 16-bit samples, one channel, 16,000 samples a second. */
  readonly onAudio: (samples: Int16Array) => void;
  /**
   * Address of a script with the text of `RECORDER_SCRIPT`, for pages whose content security policy forbids `blob:`
   * scripts. Default: a `blob:` address.
   */
  readonly scriptUrl?: string;
}

/** An open microphone. */
export interface Microphone {
  /** Returns the loudness of the input, from 0 to 1. */
  level(): number;
  /** Pauses and continues sending. */
  setMuted(isMuted: boolean): void;
  /** Releases the device. Does nothing the second time. */
  close(): Promise<void>;
}

const SAMPLE_RATE = 16_000;

/** The script that runs on the audio thread. Where the context has another rate, a sample is the mean of what it covers. */
export const RECORDER_SCRIPT = `registerProcessor('eventloom-recorder', class extends AudioWorkletProcessor {
  samples = new Int16Array(640);
  filled = 0;
  sum = 0;
  count = 0;
  due = 0;
  process([[heard = []]]) {
    for (const value of heard) {
      this.sum += value;
      this.count++;
      for (this.due += ${SAMPLE_RATE}; this.due >= sampleRate; this.due -= sampleRate) {
        const mean = this.count === 0 ? value : this.sum / this.count;
        this.sum = this.count = 0;
        this.samples[this.filled++] = 32767 * Math.max(-1, Math.min(1, mean));
        if (this.filled < 640) continue;
        this.port.postMessage(this.samples.slice());
        this.filled = 0;
      }
    }
    return true;
  }
});`;

/**
 * Opens the microphone of a browser, after the user's permission.
 * @throws DOMException of the browser, such as NotAllowedError if the user refuses
 *
 * @example
 * const call = new LiveCall({ appName: 'demo', userId: 'ann', sessionId: 'first' });
 * const microphone = await openMicrophone({ onAudio: (samples) => call.sendAudio(samples) });
 */
export async function openMicrophone({ onAudio, scriptUrl }: MicrophoneOptions): Promise<Microphone> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
  });
  const { context, source } = contextOf(stream);
  const url = scriptUrl ?? URL.createObjectURL(new Blob([RECORDER_SCRIPT], { type: 'text/javascript' }));
  try {
    await context.audioWorklet.addModule(url);
  } catch (error) {
    for (const track of stream.getTracks()) track.stop();
    await context.close();
    throw error;
  } finally {
    if (scriptUrl === undefined) URL.revokeObjectURL(url);
  }
  const meter = context.createAnalyser();
  meter.fftSize = 512;
  const recorder = new AudioWorkletNode(context, 'eventloom-recorder');
  let isMuted = false;
  recorder.port.addEventListener('message', ({ data }: MessageEvent<Int16Array<ArrayBuffer>>) => {
    if (!isMuted) onAudio(data);
  });
  recorder.port.start();
  source.connect(meter).connect(recorder);
  return {
    level: () => (isMuted ? 0 : levelOf(meter)),
    setMuted: (muted) => (isMuted = muted),
    close: async () => {
      for (const track of stream.getTracks()) track.stop();
      if (context.state !== 'closed') await context.close();
    },
  };
}

/** Connects a microphone to a context with the rate of the call. Firefox allows only a context with the rate of the device. */
function contextOf(stream: MediaStream): { readonly context: AudioContext; readonly source: AudioNode } {
  const context = new AudioContext({ sampleRate: SAMPLE_RATE });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context.close();
    const own = new AudioContext();
    return { context: own, source: own.createMediaStreamSource(stream) };
  }
}
