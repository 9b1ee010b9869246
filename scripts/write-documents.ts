import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDocument } from '../src/cli/render-document.ts';

writeFileSync(join(import.meta.dirname, '..', 'docs', 'command-line.md'), renderDocument());
