import { type Import, importsOf } from './imports.ts';
import type { SourceFile } from './source-file.ts';

interface Room {
  /** Files whose path begins so stand in this room. */
  readonly path: string;
  readonly floor: number;
  /** Packages and built-in modules that may be imported; undefined for any. */
  readonly packages: readonly string[] | undefined;
  /** Each folder inside is a room of its own. */
  readonly islands?: true;
  /** The folder inside that the islands may share. */
  readonly shared?: string;
}

const rooms: readonly Room[] = [
  { path: 'src/streams/flow/', floor: 0, packages: ['rxjs'] },
  { path: 'src/streams/tensors/', floor: 0, packages: ['apache-arrow', 'node:buffer', 'node:module', 'node:url'] },
  { path: 'src/streams/inference/', floor: 1, packages: ['rxjs', 're2js', 'node:buffer'] },
  { path: 'src/operators/', floor: 2, packages: undefined },
  { path: 'src/backends/', floor: 2, packages: undefined, islands: true, shared: 'src/backends/workers/' },
  { path: 'src/caches/', floor: 2, packages: undefined, islands: true },
  { path: 'src/frontends/', floor: 3, packages: undefined, islands: true },
  { path: 'src/repository/', floor: 3, packages: undefined },
  { path: 'src/telemetry/', floor: 3, packages: undefined },
  { path: 'src/cli/', floor: 4, packages: undefined },
  { path: 'src/server/', floor: 4, packages: undefined },
  { path: 'src/main.ts', floor: 4, packages: undefined },
  { path: 'src/server.ts', floor: 4, packages: undefined },
  { path: 'src/index.ts', floor: 4, packages: undefined },
  { path: 'src/operators.ts', floor: 4, packages: undefined },
  { path: 'src/backend.ts', floor: 4, packages: undefined },
];

const topFloor = 4;

const roomOf = (path: string): Room | undefined => rooms.find((room) => path.startsWith(room.path));

/** The folder whose files may import each other. */
const islandOf = (path: string, room: Room): string => {
  const inner = path.slice(room.path.length).split('/');
  return room.islands === true && inner.length > 1 ? `${room.path}${inner[0]}/` : room.path;
};

const mayImport = (path: string, room: Room, target: string): boolean => {
  const other = roomOf(target);
  if (other === undefined) return false;
  if (other.floor < room.floor || (room.floor === topFloor && other.floor === topFloor)) return true;
  if (other !== room) return false;
  return islandOf(path, room) === islandOf(target, room) || (room.shared !== undefined && target.startsWith(room.shared));
};

const mayImportPackage = (room: Room, name: string): boolean => room.packages === undefined || room.packages.includes(name);

const faultOf = (path: string, room: Room, { target, isRelative }: Import): string | undefined => {
  if (!isRelative) return mayImportPackage(room, target) ? undefined : `${path} imports the package ${target}`;
  return mayImport(path, room, target) ? undefined : `${path} imports ${target}`;
};

/** Imports that go up, or across. */
export const floorFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => {
    const room = roomOf(file.path);
    if (room === undefined) return [`${file.path} stands on no floor`];
    return importsOf(file).flatMap((each) => faultOf(file.path, room, each) ?? []);
  });
