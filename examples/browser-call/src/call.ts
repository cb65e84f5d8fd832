/** Sends the microphone's audio as 16-bit samples, 40 milliseconds at a time. Runs on the audio thread. */
const RECORDER = `registerProcessor('recorder', class extends AudioWorkletProcessor {
  samples = new Int16Array(640); filled = 0;
  process([[heard = []]]) {
    for (const value of heard) {
      this.samples[this.filled++] = 32767 * Math.max(-1, Math.min(1, value));
      if (this.filled === 640) { this.port.postMessage(this.samples.slice().buffer); this.filled = 0; }
    }
    return true;
  }
});`;

/**
 * Calls an agent: sends the microphone's audio and plays the agent's.
 * @param address of `/run_live`, with `audio=binary&ping=text`
 * @param onMessage called with every event, with the error that ends a call, and at the end
 * @returns a function that hangs up
 */
export async function call(address: string, onMessage: (message: object) => void): Promise<() => void> {
  const heard = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true } });
  const microphone = new AudioContext({ sampleRate: 16_000 });
  const speaker = new AudioContext({ sampleRate: 24_000 });
  await microphone.audioWorklet.addModule(URL.createObjectURL(new Blob([RECORDER], { type: 'text/javascript' })));
  const recorder = new AudioWorkletNode(microphone, 'recorder');
  microphone.createMediaStreamSource(heard).connect(recorder);

  const socket = new WebSocket(address);
  socket.binaryType = 'arraybuffer';
  let playing: AudioBufferSourceNode[] = [];
  let endsAt = 0;
  const play = (bytes: ArrayBuffer): void => {
    const samples = Float32Array.from(new Int16Array(bytes), (sample) => sample / 32_768);
    const buffer = speaker.createBuffer(1, samples.length, 24_000);
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(speaker, { buffer });
    source.connect(speaker.destination);
    endsAt = Math.max(endsAt, speaker.currentTime);
    source.start(endsAt);
    endsAt += buffer.duration;
    playing.push(source);
    source.onended = () => (playing = playing.filter((other) => other !== source));
  };

  recorder.port.onmessage = ({ data }) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
  };
  socket.onmessage = ({ data }) => {
    if (typeof data !== 'string') return play(data);
    const message = JSON.parse(data);
    if ('ping' in message) return socket.send(JSON.stringify({ pong: message.ping }));
    if (message.interrupted) {
      for (const source of playing) source.stop();
      endsAt = 0;
    }
    onMessage(message);
  };
  socket.onclose = ({ code, reason }) => {
    for (const track of heard.getTracks()) track.stop();
    void microphone.close();
    void speaker.close();
    onMessage({ closed: code, reason });
  };
  return () => socket.close();
}
