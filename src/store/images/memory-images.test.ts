import { imagesConformance } from '../../../test/store/images-conformance.ts';
import { MemoryImages } from './memory-images.ts';

imagesConformance('images in memory', () => new MemoryImages());
