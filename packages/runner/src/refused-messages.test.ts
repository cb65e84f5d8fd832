import { InMemoryArtifactService } from '@eventloom/artifacts';
import { getFunctionResponses, type SaveArtifactRequest, SizeLimitError } from '@eventloom/core';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, scenario } from './fixtures/scenario.ts';

test.each([
  ['of this process that can be resumed', true, false],
  ['of this process that cannot be resumed', false, false],
  ['of another process that can be resumed', true, true],
  ['of another process that cannot be resumed', false, true],
])('a message whose state is too large interrupts no run %s', async (_title, resumable, isElsewhere) => {
  const gate = new Gate();
  const execute = () => gate.pass().then(() => ({ worked: true }));
  const work = new FunctionTool({ name: 'work', description: '', execute });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const model: ScriptedStep[] = [
    { calls: [{ id: 'w', name: 'wait' }] },
    { calls: [{ id: 'c', name: 'work' }] },
    'Done.',
  ];
  const first = await scenario({ model, agent: { tools: [work, wait] }, resumable });
  await first.run('wait');
  const running = first.run('work');
  await gate.reached;
  const before = await first.stored();
  const { run } = isElsewhere ? first.restart() : first;
  const refused = { runConfig: { onBusy: 'interrupt' }, stateDelta: { 'user:draft': 'x'.repeat(5_000_000) } } as const;
  const answer = { functionResponse: { id: 'w', name: 'wait', response: { ready: true } } };
  for (const message of ['hello', answer]) await expect(run(message, refused)).rejects.toThrow(SizeLimitError);
  expect(await first.stored()).toEqual(before);
  gate.open();
  await running;
  expect((await first.stored()).flatMap(getFunctionResponses).at(-1)?.response).toEqual({ worked: true });
});

/** Artifacts in memory of at most 100 characters. */
class SmallArtifacts extends InMemoryArtifactService {
  override async checkSave(request: SaveArtifactRequest): Promise<void> {
    if ((request.artifact.inlineData?.data?.length ?? 0) > 100) throw new SizeLimitError('at most 100 characters');
    await super.checkSave(request);
  }

  override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    await this.checkSave(request);
    return super.saveArtifact(request);
  }
}

test.each([
  ['of this process', false],
  ['of another process', true],
])(
  'a message with a file that is too large for the artifact service interrupts no run %s',
  async (_title, isElsewhere) => {
    const gate = new Gate();
    const execute = () => gate.pass().then(() => ({ worked: true }));
    const work = new FunctionTool({ name: 'work', description: '', execute });
    const artifactService = new SmallArtifacts();
    const first = await scenario({
      model: [{ calls: [{ id: 'c', name: 'work' }] }, 'Done.', 'Seen.'],
      agent: { tools: [work] },
      artifactService,
    });
    const running = first.run('work');
    await gate.reached;
    const before = await first.stored();
    const { run } = isElsewhere ? first.restart() : first;
    const runConfig = { onBusy: 'interrupt', saveInputBlobsAsArtifacts: true } as const;
    const file = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(104), displayName: 'a.png' } };
    await expect(run([{ text: 'see' }, file], { runConfig })).rejects.toThrow(SizeLimitError);
    expect(await first.stored()).toEqual(before);
    expect(await artifactService.listArtifactKeys(KEY)).toEqual([]);
    gate.open();
    await running;
    expect((await first.stored()).flatMap(getFunctionResponses).at(-1)?.response).toEqual({ worked: true });
  },
);
