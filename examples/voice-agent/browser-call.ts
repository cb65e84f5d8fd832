/** Takes what the server sends. */
export interface Listener {
  /** PCM with 24,000 samples a second. */
  play(piece: ArrayBuffer): void;
  /** What is played is cut off. */
  clear(): void;
  show(text: string): void;
}

/**
 * A question and its answer over a server's WebSocket, for browsers as they are. Settles when the call is over.
 * @param address of the call: `wss://…/run_live?app_name=…&user_id=…&session_id=…`
 * @param microphone PCM with 16,000 samples a second
 */
export async function browserCall(
  address: string,
  microphone: AsyncIterable<Int16Array<ArrayBuffer>>,
  listener: Listener,
) {
  const socket = new WebSocket(`${address}&audio=binary&output_audio_transcription=true`);
  socket.binaryType = 'arraybuffer';
  socket.addEventListener('message', ({ data }) => {
    if (data instanceof ArrayBuffer) return listener.play(data);
    const event = JSON.parse(data as string);
    if (event.error) listener.show(event.error);
    if (event.interrupted) listener.clear();
    if (event.outputTranscription?.finished) listener.show(event.outputTranscription.text);
    if (event.turnComplete) socket.send('{"close": true}');
  });
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  await Promise.race([closed, new Promise((resolve) => socket.addEventListener('open', resolve))]);
  for await (const samples of microphone) {
    if (socket.readyState !== WebSocket.OPEN) break;
    socket.send(samples);
  }
  await closed;
}
