import { readWav, writeWav } from '../stage/wav-file.ts';
import type { LiveStage } from '../stage/live-stage.ts';
import type { LiveStory } from '../stage/live-story.ts';
import { spokenTurn, toneSamples, toolCall } from '../stage/speech.ts';
import { rootAgent } from './agent.ts';
import { call } from './call.ts';

export const story: LiveStory = {
  agent: rootAgent,
  connections: [
    [
      { heard: /activityEnd/ },
      { serverContent: { inputTranscription: { text: 'Are you open on Sunday?' } } },
      toolCall('call-1', 'opening_hours', { day: 'Sunday' }),
      { heard: 'toolResponse' },
      ...spokenTurn('Yes, on Sunday we are open from ten to six.'),
    ],
  ],
  takes: [['<file.wav>']],
  /** The question is a file, or by default a tone, which only a scripted Gemini understands. */
  async tell(stage, [path = createQuestion(stage)]) {
    const { sampleRate, samples } = readWav(path);
    const answer: Buffer[] = [];
    const microphone = { mimeType: `audio/pcm;rate=${sampleRate}`, pieces: piecesOf(samples, sampleRate / 5) };
    const speaker = {
      play: (piece: string) => void answer.push(Buffer.from(piece, 'base64')),
      clear: () => void (answer.length = 0),
    };
    for await (const event of call(stage.runner, microphone, speaker)) stage.show(event);
    const file = stage.file('answer.wav');
    writeWav(file, { sampleRate: 24_000, samples: Buffer.concat(answer) });
    stage.note(`The answer can be heard in ${file}.`);
  },
};

function createQuestion(stage: LiveStage): string {
  const path = stage.file('question.wav');
  writeWav(path, { sampleRate: 16_000, samples: Buffer.from(toneSamples(440, 1, 16_000).buffer) });
  return path;
}

async function* piecesOf(samples: Buffer, bytes: number): AsyncGenerator<string> {
  for (let at = 0; at < samples.length; at += bytes) yield samples.subarray(at, at + bytes).toString('base64');
}
