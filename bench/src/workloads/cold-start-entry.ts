import { InMemorySessionService } from '@eventloom/sessions';
import { InstantModel } from '../models.ts';
import { createRunner } from '../setup.ts';

createRunner(new InstantModel(), new InMemorySessionService());
