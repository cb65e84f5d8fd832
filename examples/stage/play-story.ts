import { UsageError } from './usage-error.ts';

/** A story that a stage can play. */
interface Telling<OnStage> {
  readonly takes?: readonly (readonly string[])[];
  tell(stage: OnStage, args: readonly string[]): Promise<void>;
}

/**
 * Plays a story of either kind.
 *
 * @param args the arguments after the name of the example on the command line
 * @throws UsageError for unknown arguments, before anything is played
 */
export async function playStory<OnStage>(
  story: Telling<OnStage>,
  stage: OnStage,
  args: readonly string[],
): Promise<void> {
  const { takes = [] } = story;
  const isKnown = args.length === 0 || takes.some((words) => isLike(args, words));
  if (!isKnown) throw new UsageError(`${args.map(quote).join(' ')}: expected after the name: ${list(takes)}`);
  await story.tell(stage, args);
}

/** True if the arguments match the words. A word in angle brackets matches any value. */
function isLike(args: readonly string[], words: readonly string[]): boolean {
  return args.length === words.length && words.every((word, at) => word.startsWith('<') || word === args[at]);
}

function list(takes: readonly (readonly string[])[]): string {
  return ['nothing', ...takes.map((words) => words.join(' '))].join(', or ');
}

function quote(word: string): string {
  return JSON.stringify(word);
}
