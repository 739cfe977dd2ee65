import { imagesConformance } from '../../../test/store/images-conformance.ts';
import { MemoryImages } from './memory-store.ts';

imagesConformance('images in memory', () => new MemoryImages());
