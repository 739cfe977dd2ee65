import { imagesConformance } from '../../test/store/images-conformance.ts';
import { MemoryImages } from './image-memory.ts';

imagesConformance('images in memory', () => new MemoryImages());
