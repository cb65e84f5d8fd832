import type { LiveStory } from '../stage/live-story.ts';
import { spokenTurn, toolCall } from '../stage/speech.ts';
import { rootAgent } from './agent.ts';

export const story: LiveStory = {
  agent: rootAgent,
  connections: [
    [
      { heard: /Watch EVL/ },
      toolCall('call-1', 'watch_price', { symbol: 'EVL' }),
      { heard: 'toolResponse' },
      { heard: /101\.2/ },
      ...spokenTurn('EVL begins at 101.20.'),
      { heard: /What do they make/ },
      ...spokenTurn('They make looms.'),
      { heard: /99\.8/ },
      ...spokenTurn('EVL is below 100: it is at 99.80.'),
      { heard: /enough/ },
      toolCall('call-2', 'stop_streaming', { function_name: 'watch_price' }),
      { heard: 'toolResponse' },
      ...spokenTurn('I have stopped.'),
    ],
  ],
  tell: (stage) =>
    stage.talk(['Watch EVL for me.', 'What do they make?', undefined, 'That is enough.'], {
      outputAudioTranscription: {},
    }),
};
