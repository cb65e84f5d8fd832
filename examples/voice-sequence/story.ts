import { writeFileSync } from 'node:fs';
import type { LiveStory } from '../stage/live-story.ts';
import { spokenTurn, toolCall } from '../stage/speech.ts';
import { rootAgent } from './agent.ts';
import { savedAudio } from './saved-audio.ts';

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
  async tell(stage) {
    const runConfig = { outputAudioTranscription: {}, saveLiveBlob: true };
    await stage.talk(['Hello, my boiler leaks.', 'At 3 Mill Lane.', 'Yes, thank you.'], runConfig);
    for (const event of stage.events) {
      const audio = await savedAudio(stage.runner, 'first', event);
      if (audio) writeFileSync(stage.file(`${event.author}.wav`), audio);
    }
    stage.note(`What was said last by each is in ${stage.file('intake.wav')} and ${stage.file('planner.wav')}.`);
  },
};
