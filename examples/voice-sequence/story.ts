import type { LiveStory } from '../stage/live-story.ts';
import { spokenTurn, toolCall } from '../stage/speech.ts';
import { rootAgent } from './agent.ts';

export const story: LiveStory = {
  agent: rootAgent,
  connections: [
    [
      { heard: /boiler leaks/ },
      ...spokenTurn('I am sorry to hear that. Where is it?'),
      { heard: /Mill Lane/ },
      toolCall('call-1', 'note_fault', { fault: 'the boiler leaks', address: '3 Mill Lane' }),
      { heard: 'toolResponse' },
      toolCall('call-2', 'task_completed', {}),
    ],
    [
      ...spokenTurn('Somebody can be with you tomorrow at nine. Is that well?'),
      { heard: /Yes/ },
      toolCall('call-3', 'task_completed', {}),
    ],
  ],
  tell: (stage) =>
    stage.talk(['Hello, my boiler leaks.', 'At 3 Mill Lane.', 'Yes, thank you.'], {
      outputAudioTranscription: {},
      saveLiveBlob: true,
    }),
};
