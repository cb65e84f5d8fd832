import { expect, test } from 'vitest';
import { shippedSources } from './patterns.ts';
import { readWorkspaces } from './repository.ts';

/** Files that make, copy or print events with long-running calls, or only ask whether an event has one. */
const PASSING = [
  'packages/adk/src/event-fields.ts',
  'packages/adk/src/event-history.ts',
  'packages/adk/src/structured-events.ts',
  'packages/adk/src/workflow/function-node.ts',
  'packages/adk/src/workflow/node-tool.ts',
  'packages/adk/src/workflow/request-input.ts',
  'packages/adk/src/workflow/tool-node.ts',
  'packages/core/src/context/request-input.ts',
  'packages/core/src/event/event-predicates.ts',
  'packages/core/src/event/event-shape.ts',
  'packages/core/src/event/event.ts',
  'packages/core/src/event/strict-adk.ts',
  'packages/graph/src/node-commits.ts',
  'packages/llm-agent/src/loop.ts',
  'packages/llm-agent/src/model-call.ts',
  'packages/llm-agent/src/running-calls.ts',
  'packages/multi-agent/src/agent-tool.ts',
  'packages/plugins/src/debug-logging-plugin.ts',
  'packages/plugins/src/logging-plugin.ts',
  'packages/server/src/runs/run-state.ts',
];

/** Files that look for the id of a call in the list, with what they look at instead of the session. */
const LOOKING: Readonly<Record<string, string>> = {
  'packages/a2a/src/task-view.ts': 'the parts of one event',
  'packages/adk/src/a2a-agent-executor.ts': 'the rule of the ADK: a task waits for each long-running call of its run',
  'packages/adk/src/workflow/agent-node.ts': 'the calls of an agent in one node',
  'packages/adk/src/workflow/earlier-runs.ts': 'the questions of one node',
  'packages/adk/src/workflow/workflow-history.ts': 'the questions of one node',
  'packages/adk/src/workflow/node-attempts.ts': 'the questions of one node',
  'packages/client/src/conversation.ts': 'the parts of one event',
  'packages/core/src/calls/calls.ts': 'Calls itself',
  'packages/graph/src/run-agent.ts': 'the last event of an agent that stopped there',
  'packages/multi-agent/src/agent-reply.ts': 'the last event of an agent that stopped there',
};

test('code that knows a session asks Calls which call waits, and does not read `longRunningToolIds`', () => {
  const sources = shippedSources(readWorkspaces().flatMap(({ files }) => files));
  // Not in a comment.
  const reading = sources.filter(({ text }) => /^ *(?![ *]|\/\*).*\blongRunningToolIds\b/m.test(text));
  expect(reading.map(({ path }) => path).toSorted()).toEqual([...PASSING, ...Object.keys(LOOKING)].toSorted());
});
