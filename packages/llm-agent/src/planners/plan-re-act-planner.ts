import {
  BasePlanner,
  type CallbackContext,
  type Content,
  type LlmRequest,
  type Part,
  type ReadonlyContext,
} from '@eventloom/core';
import { FINAL_ANSWER, PLANNING_TAGS, planReActInstruction } from './plan-re-act-instruction.ts';

/**
 * Has any model plan in words: it writes a plan, acts and reasons in turns, and ends with its answer, each under a tag. What is not
 * the answer becomes thoughts, tags included; of the calls in a reply the first group is made, what comes behind it is dropped,
 * because the model wrote it without knowing their results.
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
        // A call of nothing is none.
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

/** A text with the answer in it as thought and answer; a text under another tag as thought. */
function split(part: Part): Part[] {
  const { text, thought } = part;
  if (!text || thought === true) return [part];
  const at = text.lastIndexOf(FINAL_ANSWER);
  if (at < 0) return [isTagged(text) ? { ...part, thought: true } : part];
  const end = at + FINAL_ANSWER.length;
  // A signature stays with what comes last: a text of its own would be one that it was not made for.
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

/** Earlier plans as the model wrote them: thoughts are not sent to it again, and it is to go on with its plan. */
function withPlainThoughts(content: Content): Content {
  if (!content.parts?.some(({ thought }) => thought === true)) return content;
  return { ...content, parts: content.parts.map(withoutThought) };
}

function withoutThought(part: Part): Part {
  const { thought: _, ...rest } = part;
  return rest;
}
