import type { LiveWireMessage } from '@eventloom/testing/fake-gemini';

const SAMPLE_RATE = 24_000;
const SECONDS_A_WORD = 0.1;

/** Returns a turn like those of Gemini: for each word a piece of speech (here a tone) and its text, and then the end. */
export function spokenTurn(text: string): LiveWireMessage[] {
  const words = text.split(/(?<= )/);
  return [
    ...words.map((word, index) => ({
      serverContent: {
        modelTurn: {
          parts: [{ inlineData: { mimeType: `audio/pcm;rate=${SAMPLE_RATE}`, data: tone(220 + 20 * index) } }],
        },
        outputTranscription: { text: word },
      },
    })),
    { serverContent: { generationComplete: true } },
    { serverContent: { turnComplete: true } },
  ];
}

/** Makes the message with which Gemini calls a tool. */
export function toolCall(id: string, name: string, args: Readonly<Record<string, unknown>>): LiveWireMessage {
  return { toolCall: { functionCalls: [{ id, name, args }] } };
}

/** Returns a tone at half of the maximum volume, as base64 PCM. */
function tone(hertz: number): string {
  return Buffer.from(toneSamples(hertz, SECONDS_A_WORD, SAMPLE_RATE).buffer).toString('base64');
}

/** Returns the samples of a tone. */
export function toneSamples(hertz: number, seconds: number, sampleRate: number): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length: Math.round(seconds * sampleRate) }, (_, index) =>
    Math.round(16_384 * Math.sin((2 * Math.PI * hertz * index) / sampleRate)),
  );
}
