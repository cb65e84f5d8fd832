const PLANNING = '/*PLANNING*/';
const REPLANNING = '/*REPLANNING*/';
const REASONING = '/*REASONING*/';
const ACTION = '/*ACTION*/';

/** Stands in front of the answer. */
export const FINAL_ANSWER = '/*FINAL_ANSWER*/';

/** What is under one of these is not the answer. */
export const PLANNING_TAGS: readonly string[] = [PLANNING, REPLANNING, REASONING, ACTION];

/** What a model is told that is to plan in words. */
export function planReActInstruction(): string {
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
