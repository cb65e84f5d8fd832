import type { Blob, LiveLlmResponse } from '@eventloom/core';
import { type LiveSent, ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';

/** Number of audio pieces in a turn; a page sends 25 pieces a second. */
const PIECES_A_TURN = 50;
const TURNS = 150;

/** A model for programs without a key: it records two seconds of audio and plays them back, and ignores input while it plays. */
export function createParrot(): ScriptedLiveModel {
  return new ScriptedLiveModel(() => Array.from({ length: TURNS }, turn).flat(), { model: 'parrot' });
}

function turn(): ScriptedLiveStep[] {
  const heard: Blob[] = [];
  const hear = (sent: LiveSent): boolean => 'blob' in sent && heard.push(sent.blob) === PIECES_A_TURN;
  let ignored = 0;
  const ignore = (sent: LiveSent): boolean => 'blob' in sent && ++ignored === PIECES_A_TURN;
  return [
    { heard: hear },
    () => [...heard.map(say), { outputTranscription: { text: 'This is what I heard.', finished: true } }],
    { turnComplete: true },
    { heard: ignore },
  ];
}

/** Converts speech: pages send 16,000 samples a second and models 24,000, so two samples become three. */
function say({ data = '' }: Blob): LiveLlmResponse {
  const bytes = Buffer.from(data, 'base64');
  const samples = Int16Array.from({ length: Math.floor(bytes.length / 4) * 3 }, (_, at) =>
    bytes.readInt16LE(2 * Math.floor((at * 2) / 3)),
  );
  const spoken = Buffer.from(samples.buffer).toString('base64');
  return { content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: spoken } }] } };
}
