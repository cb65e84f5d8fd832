import { OfflineModel } from './offline-model.ts';
import { Stage, type StageOptions } from './stage.ts';
import type { Story } from './story.ts';
import { playStory } from './play-story.ts';

/** The result of a played story. */
export interface Played {
  /** The stage, with its sessions and the yielded events. */
  readonly stage: Stage;
  /** The model of the story, with its requests. */
  readonly model: OfflineModel;
}

/** Plays a story with its scripted models, and prints nothing. */
export async function playOffline(
  story: Story,
  { args = [], ...options }: Omit<StageOptions, 'models'> & { readonly args?: readonly string[] } = {},
): Promise<Played> {
  const model = new OfflineModel(story.replies);
  const stage = new Stage(story, { models: () => model, ...options });
  await playStory(story, stage, args);
  return { stage, model };
}
