import { LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const cityTime = z.object({ time: z.string(), city: z.string() });
const model = 'gemini-flash-latest';

const chooseCity = new LlmAgent({ name: 'choose_city', model, instruction: 'Name a city.' });

const lookUpTime = node((_context: NodeContext, city: string) => ({ time: '10:10', city: city.trim() }), {
  name: 'look_up_time',
  outputSchema: cityTime,
});

const report = new LlmAgent({
  name: 'report',
  model,
  instruction: 'Say: it is {CityTime.time} in <CityTime.city from look_up_time>. {Unknown.field} {"json": 1}',
});

const close = node((_context: NodeContext, text: string) => `${text} Done.`, { name: 'close' });

const rootAgent = new Workflow({
  name: 'city_time',
  edges: [['START', chooseCity, lookUpTime, node(report, { inputSchema: cityTime }), close]],
});

const program: Program = {
  replies: [jsonReply(wireResponse('Paris\n')), jsonReply(wireResponse('It is 10:10 in Paris.'))],
  main: (tell) => converse(tell, rootAgent, ['A city, please.']),
};
export default program;
