import { END, LlmAgent, node, START, StateGraph } from 'eventloom';

const model = 'gemini-flash-latest';

/** The documents to read. An app would load them. */
export const documents = [
  { title: 'Spring', text: 'Sales of bicycles rose by 12 % in spring; helmets stayed flat.' },
  { title: 'Summer', text: 'Summer was wet. Bicycles fell by 3 %, rain capes doubled.' },
  { title: 'Autumn', text: 'In autumn lights and reflectors sold out in two weeks.' },
];

const reader = new LlmAgent({
  name: 'reader',
  model,
  instruction: 'Say in one sentence what the document tells about sales. Write nothing else.',
});

const read = node('read', reader, { timeoutMs: 60_000, retry: { maxAttempts: 3 } });

const editor = new LlmAgent({
  name: 'editor',
  model,
  instruction:
    'You are given what was read in several documents, as JSON. Answer the question from that, in two sentences at most.',
});

export const rootAgent = new StateGraph({ name: 'librarian', description: 'Answers questions from all documents.' })
  .addNode('map', async (question: string, context) => {
    let done = 0;
    const findings = await Promise.all(
      documents.map(async ({ title, text }) => {
        const finding = await context.runNode(read, { question, title, text }, { key: title });
        done++;
        void context.emitProgress(Math.round((done / documents.length) * 100), `read ${title}`);
        return { title, finding };
      }),
    );
    return { question, findings };
  })
  .addNode('reduce', editor)
  .addEdge(START, 'map')
  .addEdge('map', 'reduce')
  .addEdge('reduce', END)
  .compile({ maxConcurrency: 2 });
