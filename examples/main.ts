import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { AgentError, EventloomError, geminiModels } from 'eventloom';
import { COMMAND } from './stage/command.ts';
import { LiveStage } from './stage/live-stage.ts';
import type { LiveStory } from './stage/live-story.ts';
import { OfflineModel } from './stage/offline-model.ts';
import { playLiveOffline } from './stage/play-live-offline.ts';
import { Stage } from './stage/stage.ts';
import type { ServedStory } from './stage/served-story.ts';
import type { Story } from './stage/story.ts';
import { playStory } from './stage/play-story.ts';
import { UsageError } from './stage/usage-error.ts';

const NO_KEY =
  'Neither GEMINI_API_KEY nor GOOGLE_API_KEY is set: the replies of the models are scripted, everything else is real.';
const folder = import.meta.dirname;
/** Returns the path of an example's story, which is in `src` if the example has a package of its own; undefined if there is none. */
const storyOf = (name: string): string | undefined =>
  ['story.ts', 'src/story.ts'].map((file) => `./${name}/${file}`).find((file) => existsSync(join(folder, file)));
const names = readdirSync(folder).filter((name) => name !== 'stage' && storyOf(name) !== undefined);
const [name, ...args] = process.argv.slice(2);
const usage = `${COMMAND} <name>, where the name is one of\n  ${names.join('\n  ')}`;
if (name === undefined) {
  console.log(usage);
} else if (names.includes(name)) {
  await play(name).catch(refuse);
} else {
  refuse(new UsageError(`there is no example ${name}: ${usage}`));
}

function refuse(error: unknown): void {
  // An error that an agent's own code threw is shown with its stack.
  if (AgentError.isInstance(error)) throw error;
  if (error instanceof UsageError) {
    console.error(error.message);
    process.exitCode = 2;
  } else if (EventloomError.isInstance(error)) {
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}

async function play(name: string): Promise<void> {
  const { story } = (await import(storyOf(name) ?? '')) as { readonly story: Story | LiveStory | ServedStory };
  const apiKey = process.env['GEMINI_API_KEY'] || process.env['GOOGLE_API_KEY'] || '';
  if ('isServed' in story) return playStory(story, { apiKey, print: (line) => console.log(line) }, args);
  return 'connections' in story ? playLive(story, apiKey) : playText(story, apiKey);
}

async function playLive(story: LiveStory, apiKey: string): Promise<void> {
  const print = (line: string): void => console.log(line);
  if (apiKey !== '') return playStory(story, new LiveStage(story, { gemini: { apiKey }, print }), args);
  print(NO_KEY);
  await playLiveOffline(story, { args, print });
}

async function playText(story: Story, apiKey: string): Promise<void> {
  const offline = new OfflineModel(story.replies);
  const sessionService = story.keepsSessions === true ? openSessions() : undefined;
  const stage = new Stage(story, {
    models: apiKey === '' ? () => offline : geminiModels({ apiKey }),
    print: (line) => console.log(line),
    ...(sessionService && { sessionService }),
  });
  if (apiKey === '') stage.note(NO_KEY);
  try {
    await playStory(story, stage, args);
  } finally {
    await stage.close();
    sessionService?.close();
  }
}

function openSessions(): SqliteSessionService {
  mkdirSync('.eventloom', { recursive: true });
  return new SqliteSessionService({ path: join('.eventloom', 'examples.sqlite') });
}
