import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = join('backends', 'python', 'stub');

// The compiler leaves files of other languages where they are; the Python backend finds its own beside its modules.
rmSync(join(root, 'dist', folder), { recursive: true, force: true });
cpSync(join(root, 'src', folder), join(root, 'dist', folder), { recursive: true, filter: (path) => !path.endsWith('__pycache__') });
