import {
  BasePlanner,
  ConfigurationError,
  type LlmRequest,
  type ReadonlyContext,
  type CallbackContext,
  type Content,
  type Part,
} from '@eventloom/core';
import { checkOptions, type OptionRules, describeKind } from '@eventloom/core/internal';

const WRITE_THINKING = 'write thinkingConfig: { thinkingBudget: …, includeThoughts: … }';
const OPTIONS: OptionRules<{ readonly thinkingConfig: object }> = {
  thinkingConfig: { is: 'object', write: '{ thinkingBudget: 1024 }' },
};
const HINTS = { thinkingBudget: WRITE_THINKING, includeThoughts: WRITE_THINKING };

/**
 * Uses the model's built-in thinking for planning. Models without thinking refuse the request.
 *
 * @example
 * const planner = new BuiltInPlanner({ thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } });
 */
export class BuiltInPlanner extends BasePlanner {
  /** The thinking config in the format of the model's service, for example `{ includeThoughts, thinkingBudget }`. */
  readonly thinkingConfig: object;

  /** @throws ConfigurationError if `thinkingConfig` is not an object */
  constructor(options: { readonly thinkingConfig: object }) {
    super();
    checkOptions('BuiltInPlanner', OPTIONS, options, HINTS);
    const { thinkingConfig } = options;
    if (typeof thinkingConfig !== 'object' || thinkingConfig === null)
      throw new ConfigurationError(
        `BuiltInPlanner: thinkingConfig: expected an object, got ${describeKind(thinkingConfig)}; write { thinkingBudget: 1024 }`,
      );
    this.thinkingConfig = thinkingConfig;
  }

  override get setsThinkingConfig(): boolean {
    return true;
  }

  override buildPlanningInstruction(_context: ReadonlyContext, request: LlmRequest): undefined {
    request.config.thinkingConfig = { ...this.thinkingConfig };
  }

  /** Changes nothing, because the model marks its thoughts itself. */
  override processPlanningResponse(): undefined {
    return undefined;
  }
}

const PLANNING = '/*PLANNING*/';
const REPLANNING = '/*REPLANNING*/';
const REASONING = '/*REASONING*/';
const ACTION = '/*ACTION*/';

/** The tag in front of the answer. */
const FINAL_ANSWER = '/*FINAL_ANSWER*/';

/** Tags of planning sections, whose text is not part of the answer. */
const PLANNING_TAGS: readonly string[] = [PLANNING, REPLANNING, REASONING, ACTION];

/** Returns the instruction for a model that plans in text. */
function planReActInstruction(): string {
  return [
    `Work in three stages, and write each tag on a line of its own in front of the stage it names:`,
    `1. ${PLANNING} Before anything else, write a plan: a numbered list of steps that together answer the request in full. Each step
says which of your tools it needs. Plan with no other tools than those you have.`,
    `2. ${ACTION} Carry the plan out, one step after the other, by calling tools. After the results of a step write ${REASONING}: what
you know now, what is still missing, and which step is next. When results show that the plan does not lead to the answer, write
${REPLANNING} and a new plan for what is left, and follow that one.`,
    `3. ${FINAL_ANSWER} When you have what you need, write the answer, and nothing after it. Answer what was asked, in the form it was
asked for.`,
    `Rather than from memory, answer from what tools and this conversation tell you; do not call a tool for what the conversation has
already. Call tools with the parameters that they declare and no others. When something is missing that only the user can say, or
the request cannot be met with your tools, say so as your final answer.`,
  ].join('\n\n');
}

/**
 * Makes any model plan in text: it writes a plan, then alternates between actions and reasoning, and ends with its answer, each section
 * under a tag. Text other than the answer becomes thoughts, tags included. Parts after the first group of calls in a reply are dropped,
 * because the model wrote them without the results of these calls.
 *
 * @example
 * const agent = new LlmAgent({ name: 'helper', model, planner: new PlanReActPlanner() });
 */
export class PlanReActPlanner extends BasePlanner {
  override buildPlanningInstruction(_context: ReadonlyContext, request: LlmRequest): string {
    request.contents = request.contents.map(withPlainThoughts);
    return planReActInstruction();
  }

  override processPlanningResponse(_context: CallbackContext, parts: readonly Part[]): Part[] {
    const kept: Part[] = [];
    let hasCalls = false;
    for (const part of parts) {
      if (part.functionCall) {
        // Ignore a call without a tool name.
        if (!part.functionCall.name) continue;
        hasCalls = true;
        kept.push(part);
      } else if (hasCalls) {
        break;
      } else {
        kept.push(...split(part));
      }
    }
    return kept;
  }
}

/** Splits a text with the answer in it into a thought and the answer. A text under another tag becomes a thought. */
function split(part: Part): Part[] {
  const { text, thought } = part;
  if (!text || thought === true) return [part];
  const at = text.lastIndexOf(FINAL_ANSWER);
  if (at < 0) return [isTagged(text) ? { ...part, thought: true } : part];
  const end = at + FINAL_ANSWER.length;
  // The signature stays with the last of the two parts, because the service made it for the end of the text.
  const { thoughtSignature: _, ...reasoning } = part;
  const answer = text.slice(end);
  return [
    { ...(answer === '' ? part : reasoning), text: text.slice(0, end), thought: true },
    ...(answer === '' ? [] : [{ ...part, text: answer }]),
  ];
}

function isTagged(text: string): boolean {
  const begun = text.trimStart();
  return PLANNING_TAGS.some((tag) => begun.startsWith(tag));
}

/** Turns earlier thoughts back into text, because thoughts are not sent to the model, which has to continue its plan. */
function withPlainThoughts(content: Content): Content {
  if (!content.parts?.some(({ thought }) => thought === true)) return content;
  return { ...content, parts: content.parts.map(withoutThought) };
}

function withoutThought(part: Part): Part {
  // The model's own thoughts, which its provider wants back as they are.
  if (part.partMetadata?.['madeBy'] !== undefined) return part;
  const { thought: _, ...rest } = part;
  return rest;
}
