import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderConformance } from '../conformance/render-document.ts';
import { renderDocument } from '../src/cli/render-document.ts';
import { renderPage } from '../src/repository/config/render-page.ts';

const documents = { 'command-line.md': renderDocument, 'configuration.md': renderPage, 'conformance.md': renderConformance };

for (const [name, render] of Object.entries(documents)) writeFileSync(join(import.meta.dirname, '..', 'docs', name), render());
