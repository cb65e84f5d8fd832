// Loads the program only after the signals have handlers, because loading takes most of the time of a start.

import './quiet-warnings.ts';
import { endEarlyAtSignals } from './early-signals.ts';

endEarlyAtSignals();
await import('./program.ts');
