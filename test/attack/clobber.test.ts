import '../clobber.test.ts';
