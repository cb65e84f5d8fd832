/** Prints the files, one a line, that `import 'eventloom'` loads. */
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) console.log(url);
    return nextLoad(url, context);
  },
});
await import('eventloom');
